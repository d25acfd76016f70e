/* proc.c - see proc.h. */
#include "proc.h"

#include <stdio.h>
#include <unistd.h>

/* NSpid lists our pid in each namespace from that of /proc down to our own: more than one
 * if these differ.  Two may be equal by chance. */
bool proc_is_ours(void)
{
    char  line[256];
    int   pid = 0, outer, inner;
    bool  nested = false;
    FILE *file = fopen("/proc/self/status", "re");

    if (file == NULL)
        return false;
    while (fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "Pid: %d", &pid);
        nested = nested || sscanf(line, "NSpid: %d %d", &outer, &inner) == 2;
    }
    fclose(file);
    return pid == (int)getpid() && !nested;
}
