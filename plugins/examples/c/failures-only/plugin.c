/* An example notifier: a command that succeeded wakes nobody, unless its program is one whose success is always told.
 * Everything else is delivered. */
#include "hermes_plugin.h"

const hermes_descriptor hermes_plugin = {.name = "failures-only", .version = "0.1.0"};

/* The `[settings]` of plugin.toml: programs whose success is told as well. */
static const hermes_text default_always[] = {{"deploy", 6}};
static hermes_texts always = {default_always, 1};

bool hermes_configure(const hermes_settings *settings, hermes_failure *failure) {
    (void)failure;
    hermes_setting_texts(settings, "always", &always);
    return true;
}

/* ANCHOR: decide */
bool hermes_decide(const hermes_event *event, hermes_verdict *verdict, hermes_failure *failure) {
    (void)failure;
    bool succeeded = event->exited && event->exit_code == 0;
    if (!hermes_same(event->kind, hermes_str("completion")) || !succeeded) {
        return true;
    }
    hermes_text program = hermes_first_word(event->command);
    for (size_t i = 0; i < always.len; i += 1) {
        if (hermes_same(always.at[i], program)) {
            return true;
        }
    }
    hermes_builder reason = {0};
    hermes_add(&reason, program);
    hermes_add_str(&reason, " succeeded");
    hermes_suppress(verdict, hermes_built(&reason));
    return true;
}
/* ANCHOR_END: decide */
