// In OpenCL C 2.0, for group.spvasm.
kernel void group(global int *x, global atomic_int *sum, global int *seen)
{
    size_t i = get_global_id(0);
    int all = work_group_reduce_add(x[i]),
        before = sub_group_scan_exclusive_add(x[i]);
    atomic_fetch_add_explicit(sum, x[i], memory_order_relaxed,
                              memory_scope_device);
    x[i] = all * 1000 + before;
    seen[i] =
        sub_group_broadcast((int)get_local_id(0), 2) + work_group_any(i == 3);
}
