/* Does memory.pml show what weak memory does, and no more?
 *
 * One test each with -DSB, -DMP, -DLB, -DIRIW, -DWW; the weak outcome fails the
 * assertion. -DSTRONG adds what must forbid it. */
#define LOCATIONS 2
#define MESSAGES 3
#define THREADS 4
#include "memory.pml"

#define X 0
#define Y 1
byte a, b, c, d, finished;

#ifdef SB /* store buffering */
#ifdef STRONG
#define BETWEEN(p) fence_seq_cst(p)
#elif defined(WEAKER) /* not even with everything else there is */
#define BETWEEN(p) fence(p, ACQ_REL)
#else
#define BETWEEN(p) skip
#endif
proctype one() { store(0, X, 1, RELEASE); BETWEEN(0); load(0, Y, ACQUIRE, a); finished++ }
proctype two() { store(1, Y, 1, RELEASE); BETWEEN(1); load(1, X, ACQUIRE, b); finished++ }
init {
  start_memory();
  atomic { run one(); run two() }
  finished == 2;
  assert(a == 1 || b == 1)
}
#endif

#ifdef MP /* message passing */
#ifdef FENCES
#define WRITE store(0, X, 1, RELAXED); fence(0, RELEASE); store(0, Y, 1, RELAXED)
#define READ load(1, Y, RELAXED, a); fence(1, ACQUIRE); load(1, X, RELAXED, b)
#elif defined(STRONG)
#define WRITE store(0, X, 1, RELAXED); store(0, Y, 1, RELEASE)
#define READ load(1, Y, ACQUIRE, a); load(1, X, RELAXED, b)
#elif defined(HALF) /* a release that nobody acquires */
#define WRITE store(0, X, 1, RELAXED); store(0, Y, 1, RELEASE)
#define READ load(1, Y, RELAXED, a); load(1, X, RELAXED, b)
#else
#define WRITE store(0, X, 1, RELAXED); store(0, Y, 1, RELAXED)
#define READ load(1, Y, ACQUIRE, a); load(1, X, RELAXED, b)
#endif
proctype one() { WRITE; finished++ }
proctype two() { READ; finished++ }
init {
  start_memory();
  atomic { run one(); run two() }
  finished == 2;
  assert(a == 0 || b == 1)
}
#endif

#ifdef LB /* load buffering: C11 allows it, this model has none of it */
proctype one() { load(0, X, RELAXED, a); store(0, Y, 1, RELAXED); finished++ }
proctype two() { load(1, Y, RELAXED, b); store(1, X, 1, RELAXED); finished++ }
init {
  start_memory();
  atomic { run one(); run two() }
  finished == 2;
#ifdef REACH /* the strongest outcome that must be there */
  assert(!(a == 1 && b == 0))
#else
  assert(a == 0 || b == 0)
#endif
}
#endif

#ifdef IRIW /* independent reads of independent writes */
#ifdef STRONG
#define BETWEEN(p) fence_seq_cst(p)
#else
#define BETWEEN(p) skip
#endif
proctype one() { store(0, X, 1, RELEASE); finished++ }
proctype two() { store(1, Y, 1, RELEASE); finished++ }
proctype three() { load(2, X, ACQUIRE, a); BETWEEN(2); load(2, Y, ACQUIRE, b); finished++ }
proctype four() { load(3, Y, ACQUIRE, c); BETWEEN(3); load(3, X, ACQUIRE, d); finished++ }
init {
  start_memory();
  atomic { run one(); run two(); run three(); run four() }
  finished == 4;
  assert(!(a == 1 && b == 0 && c == 1 && d == 0))
}
#endif

#ifdef WW /* two stores to one place, which nothing but a message orders */
#ifdef STRONG
#define SAY RELEASE
#define HEAR ACQUIRE
#else
#define SAY RELAXED
#define HEAR RELAXED
#endif
proctype one() { store_anywhere(0, X, 1, RELAXED); store(0, Y, 1, SAY); finished++ }
proctype two() { load(1, Y, HEAR, a); store_anywhere(1, X, 2, RELAXED); finished++ }
init {
  start_memory();
  atomic { run one(); run two() }
  finished == 2;
  assert(a == 0 || NEWEST(X) == 2)
}
#endif
