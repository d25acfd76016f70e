/* histogram.h - counting how long things took. */
#ifndef HF_CLIENT_HISTOGRAM_H
#define HF_CLIENT_HISTOGRAM_H

#include "base/clock.h"
#include "holdfast.h"

void hf_histogram_add(struct hf_histogram *histogram, hf_time took);

#endif
