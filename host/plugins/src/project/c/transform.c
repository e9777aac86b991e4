/* Leaves out lines that say nothing: those that begin with one of the prefixes in the settings. */
#include "hermes_plugin.h"

const hermes_descriptor hermes_plugin = {.name = "{{name}}", .version = "0.1.0"};

/* The `[settings]` of plugin.toml. */
static const hermes_text default_noise[] = {{"DEBUG ", 6}};
static hermes_texts noise = {default_noise, 1};

bool hermes_configure(const hermes_settings *settings, hermes_failure *failure) {
    (void)failure;
    hermes_setting_texts(settings, "noise", &noise);
    return true;
}

static bool says_nothing(hermes_text line) {
    for (size_t i = 0; i < noise.len; i += 1) {
        if (hermes_starts_with(line, noise.at[i])) {
            return true;
        }
    }
    return false;
}

bool hermes_apply(const hermes_context *context, hermes_text text, hermes_outcome *outcome, hermes_failure *failure) {
    (void)context;
    (void)failure;
    size_t start = 0;
    size_t next = 0;
    hermes_text line;
    while (hermes_next_line(text, &next, &line)) {
        if (says_nothing(line)) {
            hermes_replace(outcome, start, next, hermes_str(""));
        }
        start = next;
    }
    return true;
}
