#include "graph/gradient_norm.h"

#include <algorithm>
#include <cmath>

#include "bindings/isa.h"
#include "graph/optimizer_shape.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

constexpr int64_t kPiece = 65536;    // elements that are summed in one go, whoever does it
constexpr int64_t kPieceCost = 128;  // what a piece costs beside its elements, in elements
constexpr int64_t kGrain = 32768;    // elements that are worth a thread

struct Piece {
  UpdateElement element;
  const char* from;
  int64_t count;
  int64_t start;  // where it begins when all are laid end to end
  double sum;
};

std::string cut(const std::vector<AtenTensorHandle>& tensors, std::vector<Piece>* pieces, int64_t* total) {
  for (AtenTensorHandle tensor : tensors) {
    const UpdateShape shape(tensor);
    Piece piece{};
    if (!shape.element(&piece.element)) return "a gradient has no floating point dtype of 16 to 64 bits";
    if (!shape.dense()) return "a gradient does not fill its memory";
    const char* data = static_cast<const char*>(address_of(tensor));
    for (int64_t i = 0; i < shape.count; i += kPiece) {
      piece.from = data + i * element_bytes(piece.element);
      piece.count = std::min(kPiece, shape.count - i);
      piece.start = *total;
      *total += piece.count + kPieceCost;
      pieces->push_back(piece);
    }
  }
  return "";
}

}  // namespace

std::string gradient_norm(const std::vector<AtenTensorHandle>& tensors, double* norm) {
  std::vector<Piece> pieces;
  int64_t total = 0;
  if (std::string problem = cut(tensors, &pieces, &total); !problem.empty()) return problem;
  const SumSquares kernel = kernels().sum_squares;
  parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
    const auto before = [](const Piece& piece, int64_t at) { return piece.start < at; };
    for (auto piece = std::lower_bound(pieces.begin(), pieces.end(), begin, before);
         piece != pieces.end() && piece->start < end; ++piece) {
      piece->sum = kernel(piece->element, piece->from, piece->count);
    }
  });
  double sum = 0.0;
  for (const Piece& piece : pieces) sum += piece.sum;
  *norm = std::sqrt(sum);
  return "";
}

}  // namespace ostinato
