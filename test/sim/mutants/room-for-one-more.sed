# src/core/line.c: one more than fits is let in
s/return ahead + mine->weight <= mine->capacity;/return ahead + mine->weight <= mine->capacity + 1ull;/
