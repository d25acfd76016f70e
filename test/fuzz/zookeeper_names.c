/* zookeeper_names.c - anything as the names in a folder, one a line. */
#include "base/name.h"
#include "fuzz/fuzz.h"
#include "store/zookeeper/line/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define UUID "f3a1c2d4-0b1e-4c5d-8e9f-001122334455"

static bool same_shape(const struct hf_shape *a, const struct hf_shape *b)
{
    return a->weight == b->weight && a->capacity == b->capacity && a->claim == b->claim;
}

/* What is read as a place can be written as one, and read again as the same. */
static void check_place(const struct hf_zk_child *child)
{
    enum hf_zk_style   style = child->style == HF_ZK_KAZOO ? HF_ZK_KAZOO : HF_ZK_CURATOR;
    char               text[HF_ZK_CHILD_MAX];
    struct hf_zk_child again;

    assert(child->number >= INT32_MIN && child->number <= INT32_MAX);
    if (hf_shape_invalid(&child->shape)) /* in the way, and no name of ours */
        return;
    assert(child->shape.weight >= 1 && child->shape.weight <= child->shape.capacity);
    hf_zk_child_name(style, &child->shape, UUID, 0, child->number, text);
    hf_zk_child_parse(text, strlen(text), &again);
    assert(again.style == (child->style == HF_ZK_RECIPE ? HF_ZK_CURATOR : child->style));
    assert(same_shape(&again.shape, &child->shape));
    assert(again.number == child->number);
}

static void check_child(const char *name, size_t size)
{
    struct hf_zk_child child;

    hf_zk_child_parse(name, size, &child);
    switch (child.style) {
    case HF_ZK_FOREIGN:
        assert(child.shape.capacity == 0 && child.number == 0);
        break;
    case HF_ZK_SLOT:
        assert(child.number >= 0 && child.number < HF_ALL);
        break;
    case HF_ZK_CLAIM:
        assert(size == 5 && child.shape.claim);
        break;
    default:
        check_place(&child);
        assert(size > 10);
    }
    (void)hf_zk_child_token(name, size);
    if (hf_zk_child_is(name, size, UUID))
        assert(size > 32);
}

static void check_folder(const char *folder, size_t size)
{
    char name[256], text[HF_ZK_FOLDER_MAX], again[256];

    if (hf_zk_folder_parse(folder, size, name)) {
        assert(hf_name_fault(name) == NULL);
        hf_zk_folder(name, text);
        assert(strlen(text) == size && memcmp(text, folder, size) == 0);
    }
    if (size >= sizeof name)
        return;
    memcpy(name, folder, size);
    name[size] = '\0';
    hf_zk_folder(name, text);
    assert(strchr(text, '/') == NULL && strcmp(text, "zookeeper") != 0);
    bool good = hf_name_fault(name) == NULL;
    assert(hf_zk_folder_parse(text, strlen(text), again) == good);
    assert(!good || strcmp(again, name) == 0);
}

/* Whatever a server says has happened to a path: a line is named only if it is there. */
static void check_path(const char *root, const char *path, size_t size)
{
    char name[256], folder[HF_ZK_FOLDER_MAX];

    enum hf_zk_path kind = hf_zk_path_parse(root, path, size, name);
    if (kind == HF_ZK_PATH_FOREIGN)
        return;
    size_t begin = strlen(root) + 1;
    assert(size > begin && memcmp(path, root, begin - 1) == 0 && path[begin - 1] == '/');
    assert(hf_name_fault(name) == NULL);
    hf_zk_folder(name, folder);
    size_t end = begin + strlen(folder);
    assert(end <= size && memcmp(path + begin, folder, end - begin) == 0);
    assert((kind == HF_ZK_PATH_FOLDER) == (end == size));
    assert(end == size || path[end] == '/');
    assert(end == size || memchr(path + end + 1, '/', size - end - 1) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        const uint8_t *end = memchr(bytes, '\n', size);
        size_t         length = end == NULL ? size : (size_t)(end - bytes);
        char          *name = malloc(length > 0 ? length : 1);
        if (name == NULL)
            abort();
        memcpy(name, bytes, length);
        check_child(name, length);
        check_folder(name, length);
        check_path("", name, length);
        check_path("/app/locks", name, length);
        free(name);
        length += end != NULL;
        bytes += length;
        size -= length;
    }
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
