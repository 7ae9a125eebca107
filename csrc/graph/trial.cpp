#include "graph/trial.h"

#include "graph/float_view.h"

namespace ostinato {

Handle random_tensor(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                     Numbers* numbers) {
  Handle made;
  if (aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                               aoti_torch_dtype_float32(), aoti_torch_device_type_cpu(), 0,
                               made.out()) != AOTI_TORCH_SUCCESS) {
    return Handle();
  }
  int64_t bytes = 0;
  aoti_torch_get_storage_size(made.get(), &bytes);
  float* data = float_data(made);
  for (int64_t i = 0; i < bytes / 4; ++i) data[i] = numbers->next();
  return made;
}

}  // namespace ostinato
