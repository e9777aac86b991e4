//! What the host offers: log lines, counters, native pattern search, and for notifiers storage, a clock and requests.
