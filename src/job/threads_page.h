/* The page by which a program of `ductile run --kind threads` learns which processors it has. The
 * manager writes the first part, a process of the program its slot. C, as the library is that reads
 * it; docs/formats/threads-page.md describes it. */
#pragma once

#include <stdint.h>

#define DUCTILE_PAGE_MAGIC 0x44544831u /* "1HTD" in memory */
#define DUCTILE_PAGE_VERSION 1u
#define DUCTILE_PAGE_WORDS 16 /* of 64 processors each */
#define DUCTILE_PAGE_SLOTS 64

/* Where the program finds the file, and whether its threads are to be kept to one processor each. */
#define DUCTILE_PAGE_VARIABLE "DUCTILE_THREADS"
#define DUCTILE_BIND_VARIABLE "DUCTILE_THREADS_BIND"

/* Read and written by several processes: `sequence` is odd while the fields from `cores` on are
 * written, and higher by two after each change. */
struct ductile_page_slot {
  uint32_t pid;     /* 0: free */
  uint32_t seen;    /* the sequence that its process has followed */
  uint64_t seen_ns; /* when (CLOCK_MONOTONIC) */
};

struct ductile_page {
  uint32_t magic;
  uint32_t version;
  uint32_t sequence;
  uint32_t cores;
  uint64_t cpus[DUCTILE_PAGE_WORDS]; /* none: any */
  uint64_t changed_ns;
  char control[112]; /* the socket that takes orders; empty if it has no name */
  struct ductile_page_slot slots[DUCTILE_PAGE_SLOTS];
};
