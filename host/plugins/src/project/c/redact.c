/* Masks ids such as `id-1234`. Change PREFIX, or the whole of hermes_scan, to mask what you need. */
#include "hermes_plugin.h"

/* What an id begins with, where the settings do not say. */
#define PREFIX "id-"

/* ANCHOR: descriptor */
const hermes_descriptor hermes_plugin = {.name = "{{name}}", .version = "0.1.0"};
/* ANCHOR_END: descriptor */

/* ANCHOR: settings */
/* The `[settings]` of plugin.toml. */
static hermes_text prefix;

bool hermes_configure(const hermes_settings *settings, hermes_failure *failure) {
    (void)failure;
    prefix = hermes_str(PREFIX);
    hermes_setting_text(settings, "prefix", &prefix);
    return true;
}
/* ANCHOR_END: settings */

/* ANCHOR: scan */
bool hermes_scan(const hermes_context *context, const hermes_window *window, hermes_findings *findings,
                 hermes_failure *failure) {
    (void)context;
    (void)failure;
    /* An id never crosses a line break, so only an unfinished last line has to wait for more text: findings begin so. */
    size_t start = hermes_search(window->text, prefix, 0);
    while (start != HERMES_NOWHERE) {
        size_t digits_from = start + prefix.len;
        size_t digits = hermes_digits(window->text, digits_from);
        if (digits > 0) {
            hermes_mask(findings, start, digits_from + digits, "id");
        }
        start = hermes_search(window->text, prefix, digits_from);
    }
    return true;
}
/* ANCHOR_END: scan */
