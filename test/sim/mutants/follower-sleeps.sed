# src/core/hold.c: who follows its place is woken only by what is in the way
s/ && !hold->follow ?/ ?/
