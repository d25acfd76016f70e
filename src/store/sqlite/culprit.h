/* culprit.h - who keeps everybody from writing. */
#ifndef HF_SQLITE_CULPRIT_H
#define HF_SQLITE_CULPRIT_H

#include "store/sqlite/files.h"

#define HF_SQ_CULPRIT 80

/* As " (pid 4242, ana)"; "": nobody that can be seen. */
void hf_sq_name_culprit(const struct hf_sq_files *files, char ret[HF_SQ_CULPRIT]);

#endif
