# src/store/memory/verbs.c: a repeated ENTER takes a second place
s/bool repeat = hf_session_place(.*;/bool repeat = false;/
