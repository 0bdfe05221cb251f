; What OpenCL C cannot say, compiled as builtins are for SPIR: local variables
; outside of kernels, and assembly that gives 64 bits.
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1"
target triple = "spir64-unknown-unknown"

; Memory of the work-group that its functions meet in; see ../scratch.ll. A
; work-group on a GPU has 1,024 work-items at most.
@hdu_lanes = addrspace(3) global [1024 x i64] undef, align 8
@hdu_present = addrspace(3) global [1024 x i8] undef, align 8

define spir_func ptr addrspace(3) @hdu_lanes_memory() alwaysinline {
  ret ptr addrspace(3) @hdu_lanes
}

define spir_func ptr addrspace(3) @hdu_present_memory() alwaysinline {
  ret ptr addrspace(3) @hdu_present
}

; Words that both sides of the bus see.
define spir_func i64 @hdu_look(ptr addrspace(1) %word) alwaysinline {
  %value = call i64 asm sideeffect "ld.relaxed.sys.global.u64 $0, [$1];", "=l,l,~{memory}"(ptr addrspace(1) %word)
  ret i64 %value
}
; Whoever got the word sees what was written before the values it looked at.
define spir_func i64 @hdu_swap(ptr addrspace(1) %word, i64 %from, i64 %to) alwaysinline {
  %value = call i64 asm sideeffect "atom.relaxed.sys.global.cas.b64 $0, [$1], $2, $3; fence.acq_rel.sys;", "=l,l,l,l,~{memory}"(ptr addrspace(1) %word, i64 %from, i64 %to)
  ret i64 %value
}
define spir_func void @hdu_count(ptr addrspace(1) %word) alwaysinline {
  %value = call i64 asm sideeffect "atom.relaxed.sys.global.add.u64 $0, [$1], 1;", "=l,l,~{memory}"(ptr addrspace(1) %word)
  ret void
}
; Whoever sees the word sees what was written before.
define spir_func void @hdu_publish(ptr addrspace(1) %word, i32 %value) alwaysinline {
  call void asm sideeffect "fence.acq_rel.sys; st.relaxed.sys.global.u32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %word, i32 %value)
  ret void
}

define spir_func i64 @hdu_time() alwaysinline {
  %value = call i64 asm sideeffect "mov.u64 $0, %globaltimer;", "=l,~{memory}"()
  ret i64 %value
}
define spir_func i64 @hdu_cycles() alwaysinline {
  %value = call i64 asm sideeffect "mov.u64 $0, %clock64;", "=l,~{memory}"()
  ret i64 %value
}

; Casts of which LLVM does not see what they are from: what is known to be
; elsewhere has no cast there, though the result is not used.
define spir_func ptr addrspace(3) @hdu_to_shared(ptr addrspace(4) %p) alwaysinline {
  %q = call ptr addrspace(3) asm "cvta.to.shared.u64 $0, $1;", "=l,l"(ptr addrspace(4) %p)
  ret ptr addrspace(3) %q
}
define spir_func ptr addrspace(1) @hdu_to_global(ptr addrspace(4) %p) alwaysinline {
  %q = call ptr addrspace(1) asm "cvta.to.global.u64 $0, $1;", "=l,l"(ptr addrspace(4) %p)
  ret ptr addrspace(1) %q
}
