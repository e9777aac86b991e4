/* Between the bindings of the contract and the author's functions: converts what comes in, answers what goes out, and frees
 * both. The bindings beside this file say which hook the plugin has. */
#include "hermes_internal.h"

#include <string.h>

#if __has_include("redactor.h")
#include "redactor.h"
#define WORLD(name) redactor_##name
#define SEES_RAW_TEXT 1
#elif __has_include("transformer.h")
#include "transformer.h"
#define WORLD(name) transformer_##name
#define SEES_RAW_TEXT 1
#elif __has_include("notifier.h")
#include "notifier.h"
#define WORLD(name) notifier_##name
#define SEES_RAW_TEXT 0
#else
#error "the bindings of a hook are missing: redactor.h, transformer.h or notifier.h"
#endif

typedef WORLD(string_t) wit_string;

/* Strings --------------------------------------------------------------------------------------------------------- */

/* A string of the bindings, which stays whose it is. */
static hermes_text lent(wit_string string) {
    return (hermes_text){(const char *)string.ptr, string.len};
}

/* A text as a string of the bindings, for the time of a call to the host. */
static wit_string lend(hermes_text text) {
    return (wit_string){(uint8_t *)text.at, text.len};
}

/* A text as a string of an answer, which the bindings free. */
static wit_string give(hermes_text text) {
    return lend(hermes_take_copy(text));
}

static hermes_labels labels(WORLD(list_tuple2_string_string_t) list) {
    hermes_label *labels = hermes_memory(list.len * sizeof *labels);
    for (size_t i = 0; i < list.len; i += 1) {
        labels[i] = (hermes_label){lent(list.ptr[i].f0), lent(list.ptr[i].f1)};
    }
    return (hermes_labels){labels, list.len};
}

/* Lifecycle ------------------------------------------------------------------------------------------------------- */

/* Texts up to the one that is NULL. */
static WORLD(list_string_t) give_list(const char *const *texts) {
    WORLD(list_string_t) list = {NULL, 0};
    while (texts != NULL && texts[list.len] != NULL) {
        list.len += 1;
    }
    if (list.len > 0) {
        list.ptr = hermes_take(list.len * sizeof *list.ptr);
    }
    for (size_t i = 0; i < list.len; i += 1) {
        list.ptr[i] = give(hermes_str(texts[i]));
    }
    return list;
}

void exports_hermes_hook_lifecycle_describe(exports_hermes_hook_lifecycle_descriptor_t *ret) {
    memset(ret, 0, sizeof *ret);
    ret->name = give(hermes_str(hermes_plugin.name));
    ret->version = give(hermes_str(hermes_plugin.version));
    ret->counters = give_list(hermes_plugin.counters);
    const hermes_pattern_set *sets = hermes_plugin.pattern_sets;
    size_t len = 0;
    while (sets != NULL && sets[len].name != NULL) {
        len += 1;
    }
    if (len > 0) {
        ret->pattern_sets.ptr = hermes_take(len * sizeof *ret->pattern_sets.ptr);
        ret->pattern_sets.len = len;
    }
    for (size_t i = 0; i < len; i += 1) {
        ret->pattern_sets.ptr[i].name = give(hermes_str(sets[i].name));
        ret->pattern_sets.ptr[i].patterns = give_list(sets[i].patterns);
        ret->pattern_sets.ptr[i].case_insensitive = sets[i].case_insensitive;
    }
    ret->labels.ptr = hermes_take(sizeof *ret->labels.ptr);
    ret->labels.len = 1;
    ret->labels.ptr[0].f0 = give(hermes_str("sdk"));
    ret->labels.ptr[0].f1 = give(hermes_str("c 0.1.1"));
    hermes_end_call();
}

/* Ends a call: with the failure, unless there is an answer. */
static bool end(bool answered, const hermes_failure *failure, exports_hermes_hook_lifecycle_failure_t *err) {
    if (!answered) {
        err->code = give(failure->code.len > 0 ? failure->code : hermes_str("failure"));
        err->message = give(failure->message);
    }
    hermes_end_call();
    return answered;
}

__attribute__((__weak__)) bool hermes_configure(const hermes_settings *settings, hermes_failure *failure) {
    (void)settings;
    (void)failure;
    return true;
}

__attribute__((__weak__)) bool hermes_self_test(hermes_failure *failure) {
    (void)failure;
    return true;
}

bool exports_hermes_hook_lifecycle_configure(wit_string *settings, exports_hermes_hook_lifecycle_failure_t *err) {
    const char *wrong = NULL;
    hermes_settings read = {lent(*settings), &wrong};
    hermes_failure failure = {0};
    bool configured = hermes_configure(&read, &failure);
    if (configured && wrong != NULL) {
        hermes_builder message = {0};
        hermes_add_str(&message, "the setting '");
        hermes_add_str(&message, wrong);
        hermes_add_str(&message, "' is not of the kind the plugin reads");
        failure = (hermes_failure){hermes_str("bad-settings"), hermes_built(&message)};
        configured = false;
    }
    WORLD(string_free)(settings);
    return end(configured, &failure, err);
}

bool exports_hermes_hook_lifecycle_self_test(exports_hermes_hook_lifecycle_failure_t *err) {
    hermes_failure failure = {0};
    bool well = hermes_self_test(&failure);
    return end(well, &failure, err);
}

/* Hooks ----------------------------------------------------------------------------------------------------------- */

#if SEES_RAW_TEXT
static hermes_context context_of(const hermes_hook_types_context_t *context) {
    return (hermes_context){
        .surface = lent(context->surface),
        .source = lent(context->source),
        .command = lent(context->command),
        .cwd = lent(context->cwd),
        .owner = lent(context->owner),
        .exited = context->exit_code.is_some,
        .exit_code = context->exit_code.is_some ? context->exit_code.val : 0,
        .signalled = context->signal.is_some,
        .signal = context->signal.is_some ? context->signal.val : 0,
        .labels = labels(context->labels),
    };
}
#endif

#if __has_include("redactor.h")
bool exports_hermes_hook_redact_scan(exports_hermes_hook_redact_context_t *context,
                                     exports_hermes_hook_redact_window_t *window,
                                     exports_hermes_hook_redact_findings_t *ret,
                                     exports_hermes_hook_redact_failure_t *err) {
    hermes_context given = context_of(context);
    hermes_window seen = {lent(window->text), window->fresh_from, window->front_cut, window->last};
    hermes_findings findings = {0};
    hermes_failure failure = {0};
    hermes_whole_lines(&findings, &seen);
    bool answered = hermes_scan(&given, &seen, &findings, &failure);
    if (answered) {
        memset(ret, 0, sizeof *ret);
        ret->show_until = findings.show_until;
        ret->need_from = findings.need_from;
        if (findings.len > 0) {
            ret->spans.ptr = hermes_take(findings.len * sizeof *ret->spans.ptr);
            ret->spans.len = findings.len;
        }
        for (size_t i = 0; i < findings.len; i += 1) {
            const hermes_span *span = &findings.spans[i];
            ret->spans.ptr[i] = (exports_hermes_hook_redact_span_t){span->start, span->end, give(span->rule)};
        }
    }
    exports_hermes_hook_redact_context_free(context);
    exports_hermes_hook_redact_window_free(window);
    return end(answered, &failure, err);
}
#endif

#if __has_include("transformer.h")
bool exports_hermes_hook_transform_apply(exports_hermes_hook_transform_context_t *context, wit_string *text,
                                         exports_hermes_hook_transform_outcome_t *ret,
                                         exports_hermes_hook_transform_failure_t *err) {
    hermes_context given = context_of(context);
    hermes_outcome outcome = {0};
    hermes_failure failure = {0};
    bool answered = hermes_apply(&given, lent(*text), &outcome, &failure);
    if (answered) {
        memset(ret, 0, sizeof *ret);
        if (outcome.replaced) {
            ret->tag = EXPORTS_HERMES_HOOK_TRANSFORM_OUTCOME_REPLACED;
            ret->val.replaced = give(outcome.replacement);
        } else if (outcome.len > 0) {
            ret->tag = EXPORTS_HERMES_HOOK_TRANSFORM_OUTCOME_EDITS;
            ret->val.edits.ptr = hermes_take(outcome.len * sizeof *ret->val.edits.ptr);
            ret->val.edits.len = outcome.len;
            for (size_t i = 0; i < outcome.len; i += 1) {
                const hermes_edit *edit = &outcome.edits[i];
                ret->val.edits.ptr[i] =
                    (exports_hermes_hook_transform_edit_t){edit->start, edit->end, give(edit->text)};
            }
        } else {
            ret->tag = EXPORTS_HERMES_HOOK_TRANSFORM_OUTCOME_UNCHANGED;
        }
    }
    exports_hermes_hook_transform_context_free(context);
    WORLD(string_free)(text);
    return end(answered, &failure, err);
}
#endif

#if __has_include("notifier.h")
bool exports_hermes_hook_notify_decide(exports_hermes_hook_notify_event_t *event,
                                       exports_hermes_hook_notify_verdict_t *ret,
                                       exports_hermes_hook_notify_failure_t *err) {
    hermes_event given = {
        .id = lent(event->id),
        .seq = event->seq,
        .kind = lent(event->kind),
        .source = lent(event->source),
        .command = lent(event->command),
        .owner = lent(event->owner),
        .at_ms = event->at_ms,
        .status = lent(event->status),
        .exited = event->exit_code.is_some,
        .exit_code = event->exit_code.is_some ? event->exit_code.val : 0,
        .text = lent(event->text),
        .pattern = event->pattern.is_some ? lent(event->pattern.val) : (hermes_text){NULL, 0},
        .labels = labels(event->labels),
    };
    hermes_verdict verdict = {HERMES_DELIVER, {NULL, 0}};
    hermes_failure failure = {0};
    bool answered = hermes_decide(&given, &verdict, &failure);
    if (answered) {
        memset(ret, 0, sizeof *ret);
        switch (verdict.kind) {
        case HERMES_DELIVER:
            ret->tag = EXPORTS_HERMES_HOOK_NOTIFY_VERDICT_DELIVER;
            break;
        case HERMES_REWRITE:
            ret->tag = EXPORTS_HERMES_HOOK_NOTIFY_VERDICT_REWRITE;
            ret->val.rewrite = give(verdict.text);
            break;
        case HERMES_SUPPRESS:
            ret->tag = EXPORTS_HERMES_HOOK_NOTIFY_VERDICT_SUPPRESS;
            ret->val.suppress = give(verdict.text);
            break;
        }
    }
    exports_hermes_hook_notify_event_free(event);
    return end(answered, &failure, err);
}
#endif

/* The host -------------------------------------------------------------------------------------------------------- */

void hermes_log(hermes_level level, hermes_text message) {
    wit_string line = lend(message);
    hermes_host_log_write((hermes_host_log_level_t)level, &line);
}

void hermes_count(const char *name, uint64_t by) {
    wit_string counter = lend(hermes_str(name));
    hermes_host_count_add(&counter, by);
}

#if SEES_RAW_TEXT
hermes_found hermes_find(const char *set, hermes_hits *hits) {
    wit_string name = lend(hermes_str(set));
    hermes_host_scan_list_hit_t found;
    hermes_host_scan_scan_error_t error;
    *hits = (hermes_hits){NULL, 0};
    if (!hermes_host_scan_find(&name, &found, &error)) {
        switch (error.tag) {
        case HERMES_HOST_SCAN_SCAN_ERROR_UNKNOWN_SET:
            return HERMES_UNKNOWN_SET;
        case HERMES_HOST_SCAN_SCAN_ERROR_NO_TEXT:
            return HERMES_NO_TEXT;
        default:
            return HERMES_TOO_MANY_HITS;
        }
    }
    hermes_hit *copies = hermes_memory(found.len * sizeof *copies);
    for (size_t i = 0; i < found.len; i += 1) {
        copies[i] = (hermes_hit){found.ptr[i].pattern, found.ptr[i].start, found.ptr[i].end};
    }
    *hits = (hermes_hits){copies, found.len};
    hermes_host_scan_list_hit_free(&found);
    return HERMES_FOUND;
}
#else
uint64_t hermes_unix_ms(void) {
    return hermes_host_clock_unix_ms();
}

uint32_t hermes_sleep(uint32_t ms) {
    return hermes_host_clock_sleep(ms);
}
#endif
