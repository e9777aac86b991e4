/* Texts, memory and answers: what needs nothing from the host. */
#include "hermes_internal.h"

#include <stdlib.h>
#include <string.h>

/* Memory ---------------------------------------------------------------------------------------------------------- */

/* What stands before each piece of a call's memory. It is as wide as the widest alignment, which the piece then has too. */
typedef union piece {
    union piece *before;
    max_align_t align;
} piece;

/* The newest piece of the call under way. */
static piece *pieces = NULL;

void *hermes_take(size_t bytes) {
    void *taken = calloc(1, bytes > 0 ? bytes : 1);
    if (taken == NULL) {
        abort();
    }
    return taken;
}

hermes_text hermes_take_copy(hermes_text text) {
    if (text.len == 0) {
        return (hermes_text){NULL, 0};
    }
    char *copy = hermes_take(text.len);
    memcpy(copy, text.at, text.len);
    return (hermes_text){copy, text.len};
}

void *hermes_memory(size_t bytes) {
    if (bytes > SIZE_MAX - sizeof(piece)) {
        abort();
    }
    piece *taken = hermes_take(sizeof(piece) + bytes);
    taken->before = pieces;
    pieces = taken;
    return taken + 1;
}

void hermes_end_call(void) {
    while (pieces != NULL) {
        piece *before = pieces->before;
        free(pieces);
        pieces = before;
    }
}

void *hermes_grow(void *things, size_t len, size_t *room, size_t size_of_one) {
    if (len < *room) {
        return things;
    }
    size_t more = *room > 0 ? *room : 8;
    if (*room > SIZE_MAX / size_of_one - more) {
        abort();
    }
    char *grown = hermes_memory((*room + more) * size_of_one);
    if (len > 0) {
        memcpy(grown, things, len * size_of_one);
    }
    *room += more;
    return grown;
}

/* A copy that is good until the hook returns. */
static hermes_text copy(hermes_text text) {
    if (text.len == 0) {
        return (hermes_text){NULL, 0};
    }
    char *at = hermes_memory(text.len);
    memcpy(at, text.at, text.len);
    return (hermes_text){at, text.len};
}

/* Texts ----------------------------------------------------------------------------------------------------------- */

hermes_text hermes_str(const char *text) {
    return (hermes_text){text, text == NULL ? 0 : strlen(text)};
}

hermes_text hermes_part(hermes_text text, size_t start, size_t end) {
    end = end < text.len ? end : text.len;
    if (start >= end) {
        return (hermes_text){NULL, 0};
    }
    return (hermes_text){text.at + start, end - start};
}

bool hermes_same(hermes_text text, hermes_text other) {
    return text.len == other.len && (text.len == 0 || memcmp(text.at, other.at, text.len) == 0);
}

bool hermes_starts_with(hermes_text text, hermes_text prefix) {
    return text.len >= prefix.len && hermes_same(hermes_part(text, 0, prefix.len), prefix);
}

size_t hermes_search(hermes_text text, hermes_text wanted, size_t from) {
    if (wanted.len == 0) {
        return HERMES_NOWHERE;
    }
    while (from < text.len && text.len - from >= wanted.len) {
        /* Where the rest of `wanted` would not fit, it need not be looked for. */
        const char *first = memchr(text.at + from, wanted.at[0], text.len - from - wanted.len + 1);
        if (first == NULL) {
            return HERMES_NOWHERE;
        }
        from = (size_t)(first - text.at);
        if (memcmp(first, wanted.at, wanted.len) == 0) {
            return from;
        }
        from += 1;
    }
    return HERMES_NOWHERE;
}

size_t hermes_digits(hermes_text text, size_t from) {
    size_t end = from;
    while (end < text.len && text.at[end] >= '0' && text.at[end] <= '9') {
        end += 1;
    }
    return end - from;
}

bool hermes_next_line(hermes_text text, size_t *at, hermes_text *line) {
    if (*at >= text.len) {
        return false;
    }
    const char *end = memchr(text.at + *at, '\n', text.len - *at);
    size_t next = end == NULL ? text.len : (size_t)(end - text.at) + 1;
    *line = hermes_part(text, *at, next);
    *at = next;
    return true;
}

hermes_text hermes_without_break(hermes_text line) {
    if (line.len > 0 && line.at[line.len - 1] == '\n') {
        line.len -= 1;
        if (line.len > 0 && line.at[line.len - 1] == '\r') {
            line.len -= 1;
        }
    }
    return line;
}

static bool is_space(char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

hermes_text hermes_first_word(hermes_text text) {
    size_t start = 0;
    while (start < text.len && is_space(text.at[start])) {
        start += 1;
    }
    size_t end = start;
    while (end < text.len && !is_space(text.at[end])) {
        end += 1;
    }
    return hermes_part(text, start, end);
}

void hermes_add(hermes_builder *builder, hermes_text text) {
    if (text.len == 0) {
        return;
    }
    if (text.len > builder->room - builder->len) {
        size_t needed = builder->len + text.len;
        if (needed < text.len || needed > SIZE_MAX / 2) {
            abort();
        }
        char *grown = hermes_memory(needed * 2);
        if (builder->len > 0) {
            memcpy(grown, builder->at, builder->len);
        }
        builder->at = grown;
        builder->room = needed * 2;
    }
    memcpy(builder->at + builder->len, text.at, text.len);
    builder->len += text.len;
}

void hermes_add_str(hermes_builder *builder, const char *text) {
    hermes_add(builder, hermes_str(text));
}

void hermes_add_number(hermes_builder *builder, uint64_t number) {
    /* The largest has 20 digits. */
    char digits[20];
    size_t at = sizeof digits;
    do {
        at -= 1;
        digits[at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    hermes_add(builder, (hermes_text){digits + at, sizeof digits - at});
}

hermes_text hermes_built(const hermes_builder *builder) {
    return (hermes_text){builder->at, builder->len};
}

/* Answers --------------------------------------------------------------------------------------------------------- */

bool hermes_fail(hermes_failure *failure, const char *code, const char *message) {
    failure->code = copy(hermes_str(code));
    failure->message = copy(hermes_str(message));
    return false;
}

void hermes_whole_lines(hermes_findings *findings, const hermes_window *window) {
    size_t open = window->text.len;
    if (!window->last) {
        while (open > 0 && window->text.at[open - 1] != '\n') {
            open -= 1;
        }
    }
    findings->show_until = open;
    findings->need_from = open;
}

void hermes_whole_window(hermes_findings *findings, const hermes_window *window) {
    findings->show_until = window->text.len;
    findings->need_from = window->text.len;
}

void hermes_mask(hermes_findings *findings, size_t start, size_t end, const char *rule) {
    if (start >= end) {
        return;
    }
    findings->spans = hermes_grow(findings->spans, findings->len, &findings->room, sizeof *findings->spans);
    findings->spans[findings->len] = (hermes_span){start, end, copy(hermes_str(rule))};
    findings->len += 1;
}

void hermes_hold(hermes_findings *findings, size_t from) {
    findings->show_until = from < findings->show_until ? from : findings->show_until;
    findings->need_from = from < findings->need_from ? from : findings->need_from;
}

void hermes_replace(hermes_outcome *outcome, size_t start, size_t end, hermes_text text) {
    outcome->edits = hermes_grow(outcome->edits, outcome->len, &outcome->room, sizeof *outcome->edits);
    outcome->edits[outcome->len] = (hermes_edit){start, end, copy(text)};
    outcome->len += 1;
}

void hermes_replace_all(hermes_outcome *outcome, hermes_text text) {
    outcome->replaced = true;
    outcome->replacement = copy(text);
}

void hermes_rewrite(hermes_verdict *verdict, hermes_text text) {
    *verdict = (hermes_verdict){HERMES_REWRITE, copy(text)};
}

void hermes_suppress(hermes_verdict *verdict, hermes_text reason) {
    *verdict = (hermes_verdict){HERMES_SUPPRESS, copy(reason)};
}
