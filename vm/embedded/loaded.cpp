// What the C runtime expects of each linked part, for libraries that are linked without its start files: what
// is to be done when the program ends is done when the library goes.
extern "C" {

__attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle;
void __cxa_finalize(void* part);
int __cxa_atexit(void (*function)(void*), void* argument, void* part);

// Of the C library's part for programs, which a shared library does not have.
__attribute__((visibility("hidden"))) int atexit(void (*function)(void)) {
  return __cxa_atexit(reinterpret_cast<void (*)(void*)>(function), nullptr, &__dso_handle);
}

__attribute__((destructor)) static void finalize() { __cxa_finalize(&__dso_handle); }
}
