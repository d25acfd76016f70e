# src/core/line.c: one more place is granted than fits
s/return ahead + mine->weight <= mine->capacity;/return ahead + mine->weight <= mine->capacity + 1ull;/
