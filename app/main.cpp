#include "app/batch/batch.h"
int main(int argc, char** argv) { return dyn::runBatch(argc, argv); }
