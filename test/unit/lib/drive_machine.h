/* drive_machine.h - a counter in place of the engine, for tests of src/drive. */
#ifndef DRIVE_MACHINE_H
#define DRIVE_MACHINE_H

#include "drive/drive.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct machine {
    struct hf_drive drive;
    int             fd;
    int             posted;    /* with the mutex: work to do */
    int             at_work;   /* of the thread that turns: collected work */
    int             done;      /* with the mutex: as published */
    int             turns;     /* with the mutex */
    int             again;     /* turns that post once more */
    int             delivered; /* with the mutex */
    hf_time         wake;
    bool            stop; /* each turn stops between these two: */
    sem_t           entered, leave;
};

/* Wait until machine->done has reached `done`. */
struct goal {
    struct machine *machine;
    int             done;
    int             result;
    hf_time         deadline;
    pthread_t       thread;
};

void machine_init(struct machine *machine, bool keeper);
void machine_finish(struct machine *machine);

/* With the mutex held. */
void post(struct machine *machine, int count);

/* Wait until is_so(machine), which is called with the mutex held. */
void await_machine(struct machine *machine, bool (*is_so)(const struct machine *machine));

int   wait_for(struct goal *goal);
void *wait_in_thread(void *goal);

#endif
