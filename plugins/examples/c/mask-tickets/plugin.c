/* An example redactor: masks ticket numbers such as `ACME-1234`.
 *
 * A ticket number never crosses a line break, so the last, unfinished line is all that must wait for more text: that is how
 * findings begin. */
/* ANCHOR: plugin */
#include "hermes_plugin.h"

const hermes_descriptor hermes_plugin = {.name = "mask-tickets", .version = "0.1.0"};

/* The `[settings]` of plugin.toml: project keys whose ticket numbers are masked. */
static const hermes_text default_projects[] = {{"ACME", 4}};
static hermes_texts projects = {default_projects, 1};

bool hermes_configure(const hermes_settings *settings, hermes_failure *failure) {
    (void)failure;
    hermes_setting_texts(settings, "projects", &projects);
    return true;
}

bool hermes_scan(const hermes_context *context, const hermes_window *window, hermes_findings *findings,
                 hermes_failure *failure) {
    (void)context;
    (void)failure;
    for (size_t i = 0; i < projects.len; i += 1) {
        hermes_text project = projects.at[i];
        size_t at = 0;
        while ((at = hermes_search(window->text, project, at)) != HERMES_NOWHERE) {
            size_t dash = at + project.len;
            size_t digits = dash < window->text.len && window->text.at[dash] == '-'
                                ? hermes_digits(window->text, dash + 1)
                                : 0;
            if (digits > 0) {
                hermes_mask(findings, at, dash + 1 + digits, "ticket");
            }
            at += 1;
        }
    }
    return true;
}
/* ANCHOR_END: plugin */
