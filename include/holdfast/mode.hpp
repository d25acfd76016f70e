/* mode.hpp - with exceptions or without; see holdfast.hpp. */
#ifndef HOLDFAST_MODE_HPP
#define HOLDFAST_MODE_HPP

#include <holdfast.h>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define HOLDFAST_THROWS 1
#else
#define HOLDFAST_THROWS 0
#endif

/* One program may contain files with and without exceptions, and of several versions of
 * this header.  Their classes differ but have the same names, so each mode and version
 * has an inline namespace of its own. */
#define HOLDFAST_JOIN(way, major, minor) way##_##major##_##minor
#define HOLDFAST_WAY(way, major, minor)  HOLDFAST_JOIN(way, major, minor)
#if HOLDFAST_THROWS
#define HOLDFAST_MODE HOLDFAST_WAY(throwing, HF_VERSION_MAJOR, HF_VERSION_MINOR)
#else
#define HOLDFAST_MODE HOLDFAST_WAY(coding, HF_VERSION_MAJOR, HF_VERSION_MINOR)
#endif

#endif
