/* page.h - the files of the page, which are part of the program. */
#ifndef PAGE_H
#define PAGE_H

struct page {
    const char *path;
    const char *type;
    const char *text;
};

/* NULL: there is none at that path. */
const struct page *page_find(const char *path);

#endif
