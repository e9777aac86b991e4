/* Write a hermes plugin in C: a description, and one function for its hook.
 *
 *     #include "hermes_plugin.h"
 *
 *     const hermes_descriptor hermes_plugin = {.name = "mask-nothing", .version = "0.1.0"};
 *
 *     bool hermes_scan(const hermes_context *context, const hermes_window *window,
 *                      hermes_findings *findings, hermes_failure *failure) {
 *         hermes_mask(findings, 0, window->text.len, "everything");
 *         return true;
 *     }
 *
 * Who frees what: the SDK frees everything, and the author nothing.
 *
 * - What a function of the SDK is given is copied. Nothing of it need outlive the call.
 * - What a hook is given, and what a function of the SDK gives back, is good until the hook returns.
 * - Settings are good as long as the instance lives: keep them in static variables.
 * - What the author gets from `malloc` is the author's own to free.
 *
 * Texts are bytes of UTF-8, with their length, without a zero at the end. All offsets are bytes, half open.
 *
 * A call of `abort`, a trap, and memory that cannot be had end the call, and cost the plugin a strike. An instance is used
 * for many calls, and never for two at once: an answer must not depend on an earlier one. */
#ifndef HERMES_PLUGIN_H
#define HERMES_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts ---------------------------------------------------------------------------------------------------------- */

/* Bytes of UTF-8. An empty text may have no address. */
typedef struct hermes_text {
    const char *at;
    size_t len;
} hermes_text;

/* Several texts. */
typedef struct hermes_texts {
    const hermes_text *at;
    size_t len;
} hermes_texts;

/* What a search answers where there is nothing. */
#define HERMES_NOWHERE SIZE_MAX

/* The text of a C string, which is not copied. */
hermes_text hermes_str(const char *text);

/* The bytes from `start` to `end`, as far as the text has them. */
hermes_text hermes_part(hermes_text text, size_t start, size_t end);

/* Whether two texts are the same. */
bool hermes_same(hermes_text text, hermes_text other);

/* Whether a text begins with another. */
bool hermes_starts_with(hermes_text text, hermes_text prefix);

/* Where `wanted` stands at or after `from`, or HERMES_NOWHERE. An empty text stands nowhere. */
size_t hermes_search(hermes_text text, hermes_text wanted, size_t from);

/* How many decimal digits stand at `from`. */
size_t hermes_digits(hermes_text text, size_t from);

/* The line that begins at `*at`, with its line break if it has one; `*at` moves behind it. False at the end of the text. */
bool hermes_next_line(hermes_text text, size_t *at, hermes_text *line);

/* A line without the `\n` or `\r\n` at its end. */
hermes_text hermes_without_break(hermes_text line);

/* The first word of a text: what stands before white space. Empty where there is none. */
hermes_text hermes_first_word(hermes_text text);

/* A text that grows. All zero, it is empty. What was added is in `at` and `len` until the hook returns. */
typedef struct hermes_builder {
    char *at;
    size_t len;
    size_t room;
} hermes_builder;

/* Adds a text. */
void hermes_add(hermes_builder *builder, hermes_text text);

/* Adds a C string. */
void hermes_add_str(hermes_builder *builder, const char *text);

/* Adds a number in decimal. */
void hermes_add_number(hermes_builder *builder, uint64_t number);

/* What was built so far. */
hermes_text hermes_built(const hermes_builder *builder);

/* Memory that is zero, for as long as the hook runs. */
void *hermes_memory(size_t bytes);

/* Every plugin --------------------------------------------------------------------------------------------------- */

/* A named set of patterns for `hermes_find`, in the syntax of Rust's regex crate. */
typedef struct hermes_pattern_set {
    const char *name;
    /* The patterns; the last is followed by NULL. */
    const char *const *patterns;
    /* Whether letters match in either case. */
    bool case_insensitive;
} hermes_pattern_set;

/* What a plugin says of itself. Name and version must be those of its plugin.toml. */
typedef struct hermes_descriptor {
    const char *name;
    const char *version;
    /* Counters it adds to with `hermes_count`; the last is followed by NULL. NULL: none. */
    const char *const *counters;
    /* Pattern sets the host is to compile; the last is followed by one without a name. NULL: none. */
    const hermes_pattern_set *pattern_sets;
} hermes_descriptor;

/* The plugin. Its author defines this. */
extern const hermes_descriptor hermes_plugin;

/* Why a function has no answer. */
typedef struct hermes_failure {
    hermes_text code;
    hermes_text message;
} hermes_failure;

/* Says why there is no answer, and returns false: `return hermes_fail(failure, "bad-settings", "...")`. The code is short
 * and stable, lower-case letters, digits and `-`: it is shown and counted. The message is for the author; it may quote the
 * text, and is treated like it. */
bool hermes_fail(hermes_failure *failure, const char *code, const char *message);

/* The settings: a JSON object the host has validated against the schema in plugin.toml. */
typedef struct hermes_settings hermes_settings;

/* Each sets `*value` and returns true where the setting is there; where it is not, `*value` stays as it is, so put the
 * default there first. A setting of another kind is remembered, and the plugin is not configured (`bad-settings`): the
 * schema in plugin.toml should have refused it. Settings inside settings are not read. */
bool hermes_setting_text(const hermes_settings *settings, const char *name, hermes_text *value);
bool hermes_setting_texts(const hermes_settings *settings, const char *name, hermes_texts *value);
bool hermes_setting_bool(const hermes_settings *settings, const char *name, bool *value);
bool hermes_setting_integer(const hermes_settings *settings, const char *name, int64_t *value);
bool hermes_setting_number(const hermes_settings *settings, const char *name, double *value);

/* Called once for an instance, before anything else. The author may leave it out. */
bool hermes_configure(const hermes_settings *settings, hermes_failure *failure);

/* Whether the plugin works. Called once when it is loaded. The author may leave it out. */
bool hermes_self_test(hermes_failure *failure);

/* A name and a value the host knows. */
typedef struct hermes_label {
    hermes_text name;
    hermes_text value;
} hermes_label;

/* Labels. */
typedef struct hermes_labels {
    const hermes_label *at;
    size_t len;
} hermes_labels;

/* Where a text came from. `record context` of the contract explains each field. */
typedef struct hermes_context {
    hermes_text surface;
    hermes_text source;
    hermes_text command;
    hermes_text cwd;
    hermes_text owner;
    /* Whether the command exited, and with what. */
    bool exited;
    int32_t exit_code;
    /* Whether a signal ended the command, and which. */
    bool signalled;
    uint8_t signal;
    hermes_labels labels;
} hermes_context;

/* Redactors ------------------------------------------------------------------------------------------------------ */

/* A text to look at: a whole view, or the newest part of a stream. */
typedef struct hermes_window {
    hermes_text text;
    /* Where text not seen before begins. */
    size_t fresh_from;
    /* Whether text before this window was dropped, so that it may begin inside a secret. */
    bool front_cut;
    /* Whether nothing follows. */
    bool last;
} hermes_window;

/* A place that must be masked, and the rule that says so. */
typedef struct hermes_span {
    size_t start;
    size_t end;
    hermes_text rule;
} hermes_span;

/* What a window holds. A hook gets it as `hermes_whole_lines` leaves it. */
typedef struct hermes_findings {
    /* Places to mask; `hermes_mask` adds one. */
    hermes_span *spans;
    size_t len;
    size_t room;
    /* Text from here on may still become part of a secret when more arrives. */
    size_t show_until;
    /* Text from here on must be in the next window. */
    size_t need_from;
} hermes_findings;

/* A last line that is not complete is held back: right for a rule that never looks across a line break. */
void hermes_whole_lines(hermes_findings *findings, const hermes_window *window);

/* All of the window may be shown: right where the answer for a byte never depends on later ones. */
void hermes_whole_window(hermes_findings *findings, const hermes_window *window);

/* Adds a place to mask, in any order; overlaps are united by the host. An empty place adds nothing. The rule is lower-case
 * letters, digits and `-`: it stands in the mask, so never make it from the text. */
void hermes_mask(hermes_findings *findings, size_t start, size_t end, const char *rule);

/* Holds back the text from `from` on, and asks to see it again. */
void hermes_hold(hermes_findings *findings, size_t from);

/* Looks at a window. Without an answer (false), the host withholds the text. The author of a redactor defines this. */
bool hermes_scan(const hermes_context *context, const hermes_window *window, hermes_findings *findings,
                 hermes_failure *failure);

/* Transforms ----------------------------------------------------------------------------------------------------- */

/* Puts `text` in place of the bytes from `start` to `end`. */
typedef struct hermes_edit {
    size_t start;
    size_t end;
    hermes_text text;
} hermes_edit;

/* What becomes of a text: nothing, unless one of the two functions below is called. */
typedef struct hermes_outcome {
    hermes_edit *edits;
    size_t len;
    size_t room;
    bool replaced;
    hermes_text replacement;
} hermes_outcome;

/* Puts `text` in place of the bytes from `start` to `end`: in order of their start, not overlapping, on the boundaries of
 * characters. */
void hermes_replace(hermes_outcome *outcome, size_t start, size_t end, hermes_text text);

/* Puts `text` in place of everything; edits are forgotten. */
void hermes_replace_all(hermes_outcome *outcome, hermes_text text);

/* Says what becomes of the text. Without an answer (false), the host shows it as it was and says so. The author of a
 * transform defines this. */
bool hermes_apply(const hermes_context *context, hermes_text text, hermes_outcome *outcome, hermes_failure *failure);

/* Notifiers ------------------------------------------------------------------------------------------------------ */

/* Something that happened. `record event` of the contract explains each field. */
typedef struct hermes_event {
    hermes_text id;
    uint64_t seq;
    hermes_text kind;
    hermes_text source;
    hermes_text command;
    hermes_text owner;
    uint64_t at_ms;
    hermes_text status;
    /* Whether the command ended with a code, and with what: what a shell would show. */
    bool exited;
    int32_t exit_code;
    hermes_text text;
    /* The watch pattern that matched; empty where there is none. */
    hermes_text pattern;
    hermes_labels labels;
} hermes_event;

/* What becomes of an event. */
typedef enum hermes_verdict_kind {
    /* It is delivered as it is. */
    HERMES_DELIVER,
    /* It is delivered with another text, which goes through redaction. */
    HERMES_REWRITE,
    /* It wakes nobody. */
    HERMES_SUPPRESS,
} hermes_verdict_kind;

/* What becomes of an event: it is delivered, unless one of the two functions below is called. */
typedef struct hermes_verdict {
    hermes_verdict_kind kind;
    hermes_text text;
} hermes_verdict;

/* Delivers the event with this text. */
void hermes_rewrite(hermes_verdict *verdict, hermes_text text);

/* Wakes nobody, and says why; the reason is recorded. */
void hermes_suppress(hermes_verdict *verdict, hermes_text reason);

/* Decides about one event. Without an answer (false), the host delivers it. The author of a notifier defines this. */
bool hermes_decide(const hermes_event *event, hermes_verdict *verdict, hermes_failure *failure);

/* What the host offers ------------------------------------------------------------------------------------------- */

/* How much a log line matters. */
typedef enum hermes_level {
    HERMES_TRACE,
    HERMES_DEBUG,
    HERMES_INFO,
    HERMES_WARN,
    HERMES_ERROR,
} hermes_level;

/* Writes one line for the author: `hermes plugins test -v` shows it. */
void hermes_log(hermes_level level, hermes_text message);

/* Adds to a counter the descriptor declares. */
void hermes_count(const char *name, uint64_t by);

/* One match of a pattern set. */
typedef struct hermes_hit {
    /* Which pattern of the set. */
    size_t pattern;
    size_t start;
    size_t end;
} hermes_hit;

/* Matches, in order of their start, not overlapping. */
typedef struct hermes_hits {
    const hermes_hit *at;
    size_t len;
} hermes_hits;

/* Whether `hermes_find` has an answer. */
typedef enum hermes_found {
    HERMES_FOUND,
    /* The descriptor declares no set of this name. */
    HERMES_UNKNOWN_SET,
    /* There is no text in the current call. */
    HERMES_NO_TEXT,
    /* More matches than the host returns at once. */
    HERMES_TOO_MANY_HITS,
} hermes_found;

/* Runs a pattern set the descriptor declares over the text of the current call, at native speed. For redactors and
 * transforms. */
hermes_found hermes_find(const char *set, hermes_hits *hits);

/* Milliseconds since 1970-01-01T00:00:00Z. For notifiers; requests and storage are in the bindings, `notifier.h`. */
uint64_t hermes_unix_ms(void);

/* Waits, for as long as the call's own time allows. How many milliseconds it was. For notifiers. */
uint32_t hermes_sleep(uint32_t ms);

#endif
