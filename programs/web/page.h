/* page.h - the files of the page, which are built into the program. */
#ifndef PAGE_H
#define PAGE_H

struct page {
    const char *path;
    const char *type;
    const char *text;
};

/* NULL: there is no file at that path. */
const struct page *page_find(const char *path);

#endif
