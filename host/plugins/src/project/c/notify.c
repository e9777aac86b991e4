/* Suppresses completions of commands that nobody waits for: those in the settings, when they succeeded. */
#include "hermes_plugin.h"

const hermes_descriptor hermes_plugin = {.name = "{{name}}", .version = "0.1.0"};

/* The `[settings]` of plugin.toml. */
static const hermes_text default_quiet[] = {{"sleep", 5}};
static hermes_texts quiet = {default_quiet, 1};

bool hermes_configure(const hermes_settings *settings, hermes_failure *failure) {
    (void)failure;
    hermes_setting_texts(settings, "quiet", &quiet);
    return true;
}

bool hermes_decide(const hermes_event *event, hermes_verdict *verdict, hermes_failure *failure) {
    (void)failure;
    bool succeeded = event->exited && event->exit_code == 0;
    if (!succeeded || !hermes_same(event->kind, hermes_str("completion"))) {
        return true;
    }
    hermes_text program = hermes_first_word(event->command);
    for (size_t i = 0; i < quiet.len; i += 1) {
        if (hermes_same(program, quiet.at[i])) {
            hermes_builder reason = {0};
            hermes_add(&reason, program);
            hermes_add_str(&reason, " succeeded, as it always does");
            hermes_suppress(verdict, hermes_built(&reason));
        }
    }
    return true;
}
