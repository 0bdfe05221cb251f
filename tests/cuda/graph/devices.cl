kernel void step(global int *to, global const int *from)
{
    size_t i = get_global_id(0);
    to[i] = from[i] * 3 + (int)i;
}
