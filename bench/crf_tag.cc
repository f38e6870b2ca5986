// Labels of an attribute file by a CRF model, one thread, seconds of the processor. Used by bench/crf.py.
//   bench_crf_tag MODEL FILE          all read first: seconds of reading and of labelling
//   bench_crf_tag MODEL FILE stream   sentence by sentence, labels to standard output; from the first on,
//                                       so that `open` has the index of attributes that it waits for
// prints one JSON object, to standard error.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "measure.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"
#include "selfnorm/error.h"

namespace {

struct Count {
  uint64_t tokens = 0, right = 0;

  void add(const std::vector<uint32_t>& labels, const uint32_t* truth) {
    tokens += labels.size();
    for (size_t t = 0; t < labels.size(); ++t) right += labels[t] == truth[t] ? 1 : 0;
  }
};

}  // namespace

int main(int count, char** argument) {
  if (count < 3) {
    fmt::print(stderr, "usage: bench_crf_tag MODEL FILE [stream]\n");
    return 1;
  }
  try {
    const selfnorm::CrfModel model = selfnorm::load_crf(argument[1]);
    selfnorm::CrfScorer scorer(model.shape, model.theta);
    Count result;
    double start = bench::processor_now(), read = start;
    if (count > 3) {
      selfnorm::SequenceStream stream(argument[2], model.encoder, true);
      selfnorm::Sequences sentence;
      selfnorm::SentenceText text;
      std::string out;
      bool is_there = stream.next(sentence, text);
      start = read = bench::processor_now();
      for (; is_there; is_there = stream.next(sentence, text)) {
        const selfnorm::Labelling best = selfnorm::viterbi(scorer(sentence, 0));
        result.add(best.labels, sentence.label.data());
        out.clear();
        for (const uint32_t label : best.labels) out.append(model.encoder.labels[label]) += '\n';
        fmt::print("{}\n", out);
      }
      std::fflush(stdout);
    } else {
      const selfnorm::Sequences data = selfnorm::read_sequences(argument[2], model.encoder, true);
      read = bench::processor_now();
      for (uint64_t i = 0; i < data.sentences(); ++i)
        result.add(selfnorm::viterbi(scorer(data, i)).labels, data.label.data() + data.sentence_begin[i]);
    }
    fmt::print(stderr,
               R"({{"tokens": {}, "right": {}, "open": {:.6f}, "read": {:.6f}, "label": {:.6f}}})"
               "\n",
               result.tokens, result.right, start, read - start, bench::processor_now() - read);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
