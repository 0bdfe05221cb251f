// What a random program needs to be compiled for the processor alone, without
// any header or library of OpenCL: its work-items are threads. Vectors and
// conversions are declared by the test.
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

ulong oracle_number(uint which);
void oracle_meet(void);
uint oracle_change(uint how, uint *what, uint by);

#define CLK_LOCAL_MEM_FENCE    1
#define get_global_id(d)       oracle_number(0)
#define get_local_id(d)        oracle_number(1)
#define get_local_size(d)      oracle_number(2)
#define barrier(flags)         oracle_meet()
#define atomic_add(what, by)   oracle_change(0, (uint *)(what), by)
#define atomic_xor(what, by)   oracle_change(1, (uint *)(what), by)
#define atomic_or(what, by)    oracle_change(2, (uint *)(what), by)
#define atomic_and(what, by)   oracle_change(3, (uint *)(what), by)
#define atomic_min(what, by)   oracle_change(4, (uint *)(what), by)
#define atomic_max(what, by)   oracle_change(5, (uint *)(what), by)
