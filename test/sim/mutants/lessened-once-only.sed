# src/core/hold.c: a second lessening while the first is under way is forgotten
/^static void on_line/,/^}/ s/hold->lessen = event->line/hold->lessen = false \&\& event->line/
