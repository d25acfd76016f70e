/* page.c - see page.h. */
#include "page.h"

#include "page/app.js.h"
#include "page/dialogs.js.h"
#include "page/icon.svg.h"
#include "page/index.html.h"
#include "page/lock.js.h"
#include "page/stream.js.h"
#include "page/style.css.h"
#include "page/table.js.h"
#include "page/text.js.h"
#include "page/timeline.js.h"

#include <stddef.h>
#include <string.h>

#define SCRIPT "text/javascript; charset=utf-8"

static const struct page pages[] = {
    { "/", "text/html; charset=utf-8", index_html },
    { "/style.css", "text/css; charset=utf-8", style_css },
    { "/app.js", SCRIPT, app_js },
    { "/table.js", SCRIPT, table_js },
    { "/dialogs.js", SCRIPT, dialogs_js },
    { "/lock.js", SCRIPT, lock_js },
    { "/stream.js", SCRIPT, stream_js },
    { "/timeline.js", SCRIPT, timeline_js },
    { "/text.js", SCRIPT, text_js },
    { "/icon.svg", "image/svg+xml", icon_svg },
};

const struct page *page_find(const char *path)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(path, pages[i].path) == 0)
            return &pages[i];
    return NULL;
}
