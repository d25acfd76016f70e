# src/core/hold.c: a new place keeps the id of the old one
s/hold->id = ++\*hold->ids;/hold->id = hold->id != 0 ? hold->id : ++*hold->ids;/
