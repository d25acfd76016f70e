# src/store/memory/enter.c: a repeated ENTER takes a second place
s/bool repeat = place != NULL;/bool repeat = false;/
