# To build for AArch64 elsewhere and run the tests under qemu-user; see
# scripts/aarch64, which makes the folder of libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root ABSOLUTE)
set(folder ${root}/usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${folder}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
set(CMAKE_C_FLAGS_INIT "-isystem ${root}/usr/include/aarch64-linux-gnu")
set(linked "-Wl,-rpath-link,${folder}:${root}/lib/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT ${linked})
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${linked})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu
  -E LD_LIBRARY_PATH=${folder}:${root}/lib/aarch64-linux-gnu)
