// Many steps of stacks of linear layers by SGD; see stack.h.

#include "sgd.h"
#include "stack.h"

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("stack_sgd", TORCH_BOX(&stack_steps<Sgd>)); }
