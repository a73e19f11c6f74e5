// expect: can't be reduced: expected tensors
#include <troupe/troupe.hpp>

void mistake() { troupe::replica_context::current().all_reduce(troupe::reduce_op::sum, std::string{"text"}); }
