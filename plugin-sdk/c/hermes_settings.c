/* Reads settings: a flat JSON object. The host made it, so it is JSON; still, nothing is read beyond its end. */
#include "hermes_internal.h"

#include <stdlib.h>
#include <string.h>

/* Where the reading is. */
typedef struct reader {
    const char *at;
    const char *end;
} reader;

/* The next byte that is no white space, or zero at the end. */
static char next(reader *reader) {
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r')) {
        reader->at += 1;
    }
    return reader->at < reader->end ? *reader->at : '\0';
}

/* Goes past the next byte, if it is this. */
static bool past(reader *reader, char byte) {
    if (next(reader) != byte) {
        return false;
    }
    reader->at += 1;
    return true;
}

/* Goes past a string, and says what stands between its quotes. */
static bool quoted(reader *reader, hermes_text *inside) {
    if (!past(reader, '"')) {
        return false;
    }
    const char *start = reader->at;
    for (; reader->at < reader->end; reader->at += 1) {
        if (*reader->at == '"') {
            *inside = (hermes_text){start, (size_t)(reader->at - start)};
            reader->at += 1;
            return true;
        }
        if (*reader->at == '\\' && reader->at + 1 < reader->end) {
            reader->at += 1;
        }
    }
    return false;
}

/* Goes past a value of any kind. */
static bool skip(reader *reader) {
    size_t depth = 0;
    do {
        char byte = next(reader);
        hermes_text inside;
        if (byte == '"') {
            if (!quoted(reader, &inside)) {
                return false;
            }
        } else if (byte == '{' || byte == '[') {
            depth += 1;
            reader->at += 1;
        } else if (byte == '}' || byte == ']') {
            if (depth == 0) {
                return false;
            }
            depth -= 1;
            reader->at += 1;
        } else if (byte == '\0') {
            return false;
        } else if (byte == ',' || byte == ':') {
            if (depth == 0) {
                return false;
            }
            reader->at += 1;
        } else {
            /* A number, or a word. */
            while (reader->at < reader->end && memchr(" \t\n\r,:[]{}\"", *reader->at, 11) == NULL) {
                reader->at += 1;
            }
        }
    } while (depth > 0);
    return true;
}

/* Four hexadecimal digits, or a number no character has. */
static uint32_t hex4(const char *at, const char *end) {
    uint32_t value = 0;
    if (end - at < 4) {
        return UINT32_MAX;
    }
    for (int i = 0; i < 4; i += 1) {
        char byte = at[i];
        uint32_t digit;
        if (byte >= '0' && byte <= '9') {
            digit = (uint32_t)(byte - '0');
        } else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f') {
            digit = (uint32_t)((byte | 0x20) - 'a' + 10);
        } else {
            return UINT32_MAX;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* Writes a character as UTF-8. It is never longer than what it was escaped as. */
static size_t utf8(char *out, uint32_t character) {
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (char)(0xC0 | character >> 6);
        out[1] = (char)(0x80 | (character & 0x3F));
        return 2;
    }
    if (character < 0x10000) {
        out[0] = (char)(0xE0 | character >> 12);
        out[1] = (char)(0x80 | (character >> 6 & 0x3F));
        out[2] = (char)(0x80 | (character & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | character >> 18);
    out[1] = (char)(0x80 | (character >> 12 & 0x3F));
    out[2] = (char)(0x80 | (character >> 6 & 0x3F));
    out[3] = (char)(0x80 | (character & 0x3F));
    return 4;
}

/* The character a `\u` stands for, with `*at` behind its first four digits before and behind all of it after. */
static uint32_t character(const char **at, const char *end) {
    uint32_t high = hex4(*at, end);
    *at = end - *at < 4 ? end : *at + 4;
    if (high < 0xD800 || high > 0xDFFF) {
        return high > 0xFFFF ? 0xFFFD : high;
    }
    if (high < 0xDC00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        uint32_t low = hex4(*at + 2, end);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *at += 6;
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    /* Half a pair is no character. */
    return 0xFFFD;
}

/* What a quoted text says, in memory that lives as long as the instance. */
static hermes_text unescaped(hermes_text inside) {
    if (inside.len == 0) {
        return (hermes_text){NULL, 0};
    }
    char *out = hermes_take(inside.len);
    size_t len = 0;
    const char *at = inside.at;
    const char *end = inside.at + inside.len;
    while (at < end) {
        char byte = *at;
        at += 1;
        if (byte != '\\' || at == end) {
            out[len] = byte;
            len += 1;
            continue;
        }
        byte = *at;
        at += 1;
        if (byte == 'u') {
            len += utf8(out + len, character(&at, end));
            continue;
        }
        static const char names[] = "bfnrt";
        static const char bytes[] = "\b\f\n\r\t";
        const char *known = memchr(names, byte, sizeof names - 1);
        out[len] = known == NULL ? byte : bytes[known - names];
        len += 1;
    }
    return (hermes_text){out, len};
}

/* Goes to the value of a setting. */
static bool find(const hermes_settings *settings, const char *name, reader *value) {
    reader reader = {settings->json.at, settings->json.at + settings->json.len};
    if (!past(&reader, '{')) {
        return false;
    }
    hermes_text wanted = hermes_str(name);
    hermes_text key;
    while (quoted(&reader, &key) && past(&reader, ':')) {
        hermes_text read = unescaped(key);
        bool same = hermes_same(read, wanted);
        free((void *)read.at);
        if (same) {
            *value = reader;
            return true;
        }
        if (!skip(&reader) || !past(&reader, ',')) {
            return false;
        }
    }
    return false;
}

/* Remembers that a setting is of another kind. */
static bool wrong(const hermes_settings *settings, const char *name) {
    if (*settings->wrong == NULL) {
        *settings->wrong = name;
    }
    return false;
}

bool hermes_setting_text(const hermes_settings *settings, const char *name, hermes_text *value) {
    reader reader;
    if (!find(settings, name, &reader)) {
        return false;
    }
    hermes_text inside;
    if (!quoted(&reader, &inside)) {
        return wrong(settings, name);
    }
    *value = unescaped(inside);
    return true;
}

bool hermes_setting_texts(const hermes_settings *settings, const char *name, hermes_texts *value) {
    reader reader;
    if (!find(settings, name, &reader)) {
        return false;
    }
    if (!past(&reader, '[')) {
        return wrong(settings, name);
    }
    /* Counted first, so that one piece of memory is enough. */
    struct reader counting = reader;
    hermes_text inside;
    size_t len = 0;
    while (quoted(&counting, &inside)) {
        len += 1;
        if (!past(&counting, ',')) {
            break;
        }
    }
    if (!past(&counting, ']')) {
        return wrong(settings, name);
    }
    hermes_text *texts = hermes_take(len * sizeof *texts);
    for (size_t i = 0; i < len && quoted(&reader, &inside); i += 1) {
        texts[i] = unescaped(inside);
        past(&reader, ',');
    }
    *value = (hermes_texts){texts, len};
    return true;
}

/* What stands there up to the next comma or bracket: a number, or a word. */
static hermes_text plain(reader *reader) {
    next(reader);
    const char *start = reader->at;
    while (reader->at < reader->end && memchr(" \t\n\r,:[]{}\"", *reader->at, 11) == NULL) {
        reader->at += 1;
    }
    return (hermes_text){start, (size_t)(reader->at - start)};
}

bool hermes_setting_bool(const hermes_settings *settings, const char *name, bool *value) {
    reader reader;
    if (!find(settings, name, &reader)) {
        return false;
    }
    hermes_text word = plain(&reader);
    bool yes = hermes_same(word, hermes_str("true"));
    if (!yes && !hermes_same(word, hermes_str("false"))) {
        return wrong(settings, name);
    }
    *value = yes;
    return true;
}

bool hermes_setting_integer(const hermes_settings *settings, const char *name, int64_t *value) {
    reader reader;
    if (!find(settings, name, &reader)) {
        return false;
    }
    hermes_text number = plain(&reader);
    bool negative = hermes_starts_with(number, hermes_str("-"));
    size_t from = negative ? 1 : 0;
    if (number.len == from || hermes_digits(number, from) != number.len - from) {
        return wrong(settings, name);
    }
    /* Counted below zero, where there is one number more. */
    int64_t read = 0;
    for (size_t i = from; i < number.len; i += 1) {
        int64_t digit = number.at[i] - '0';
        if (read < (INT64_MIN + digit) / 10) {
            return wrong(settings, name);
        }
        read = read * 10 - digit;
    }
    if (!negative && read == INT64_MIN) {
        return wrong(settings, name);
    }
    *value = negative ? read : -read;
    return true;
}

bool hermes_setting_number(const hermes_settings *settings, const char *name, double *value) {
    reader reader;
    if (!find(settings, name, &reader)) {
        return false;
    }
    hermes_text number = plain(&reader);
    char first = number.len > 0 ? number.at[0] : '\0';
    if (first != '-' && (first < '0' || first > '9')) {
        return wrong(settings, name);
    }
    char *copy = hermes_take(number.len + 1);
    memcpy(copy, number.at, number.len);
    char *end;
    double read = strtod(copy, &end);
    bool whole = end == copy + number.len;
    free(copy);
    if (!whole) {
        return wrong(settings, name);
    }
    *value = read;
    return true;
}
