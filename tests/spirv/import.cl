// For import.spvasm; its function is in another part of the program.
int doubled(int x);

kernel void call(global int *x)
{
    x[get_global_id(0)] = doubled(x[get_global_id(0)]) + 1;
}
