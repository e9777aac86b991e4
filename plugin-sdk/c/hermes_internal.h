/* What the files of the SDK share. Nothing here is for authors of plugins. */
#ifndef HERMES_INTERNAL_H
#define HERMES_INTERNAL_H

#include "hermes_plugin.h"

/* Memory that nobody but its taker frees. It traps where there is none: no plugin can go on without. */
void *hermes_take(size_t bytes);

/* A copy of a text in such memory. An empty text has no address, and nothing to free. */
hermes_text hermes_take_copy(hermes_text text);

/* Frees what `hermes_memory` gave out since the last end. */
void hermes_end_call(void);

/* Memory for one more of `len` things, those there are copied over. `*room` is for how many there is room. */
void *hermes_grow(void *things, size_t len, size_t *room, size_t size_of_one);

/* The settings as they came, and the name of the first that is of another kind than was asked for. */
struct hermes_settings {
    hermes_text json;
    const char **wrong;
};

#endif
