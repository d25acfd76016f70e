/* volume.c - see volume.h. */
#include "base/volume.h"

#include <stddef.h>

/* Numbers from linux/magic.h and the file systems themselves. */
static const struct {
    unsigned long type;
    const char   *name;
} unsafe[] = {
    { 0x00006969, "NFS" },    { 0x0000517b, "SMB" },    { 0xff534d42, "CIFS" },
    { 0xfe534d42, "SMB" },    { 0x65735546, "FUSE" },   { 0x01021997, "9p" },
    { 0x00c36400, "Ceph" },   { 0x5346414f, "AFS" },    { 0x6b414653, "AFS" },
    { 0x0bd00bd0, "Lustre" }, { 0x01161970, "GFS2" },   { 0x7461636f, "OCFS2" },
    { 0x73757245, "Coda" },   { 0x47504653, "GPFS" },   { 0x19830326, "BeeGFS" },
    { 0x0000564c, "NCP" },    { 0x786f4256, "vboxsf" }, { 0xbacbacbc, "vmhgfs" },
};

const char *hf_unsafe_volume(unsigned long type)
{
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
        if (unsafe[i].type == (type & 0xffffffff))
            return unsafe[i].name;
    return NULL;
}
