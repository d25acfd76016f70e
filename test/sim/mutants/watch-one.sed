# src/core/line.c: of several that keep us out together, only one is watched
s/\.count = alone ? 1 : me - i/.count = 1/
