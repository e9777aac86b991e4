/* An example transform: a line that repeats, many times in a row, becomes the line and `[repeated n times]`.
 *
 * Only the repetitions are replaced: the rest of the text is not copied. */
#include "hermes_plugin.h"

const hermes_descriptor hermes_plugin = {.name = "fold-repeats", .version = "0.1.0"};

/* A line, and the same line again behind it. */
typedef struct run {
    hermes_text line;
    uint64_t times;
    /* Where the repetitions begin. */
    size_t from;
} run;

/* ANCHOR: fold */
/* Folds a run that ends at `end`. */
static void fold(const run *run, size_t end, bool with_break, hermes_outcome *outcome) {
    if (run->times < 2) {
        return;
    }
    hermes_builder note = {0};
    hermes_add_str(&note, "[repeated ");
    hermes_add_number(&note, run->times);
    hermes_add_str(&note, with_break ? " times]\n" : " times]");
    hermes_replace(outcome, run->from, end, hermes_built(&note));
}
/* ANCHOR_END: fold */

bool hermes_apply(const hermes_context *context, hermes_text text, hermes_outcome *outcome, hermes_failure *failure) {
    (void)context;
    (void)failure;
    run run = {0};
    bool with_break = false;
    size_t start = 0;
    size_t next = 0;
    hermes_text line;
    while (hermes_next_line(text, &next, &line)) {
        hermes_text words = hermes_without_break(line);
        if (run.times > 0 && hermes_same(words, run.line)) {
            run.times += 1;
        } else {
            fold(&run, start, with_break, outcome);
            run = (struct run){words, 1, next};
        }
        with_break = words.len < line.len;
        start = next;
    }
    fold(&run, start, with_break, outcome);
    return true;
}
