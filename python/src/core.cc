// selfnorm._core: the public C++ interface, thinly. Estimators, keywords and shapes are in Python's modules.
#include <limits>
#include <type_traits>

#include "watching.h"

namespace selfnorm::python {
namespace {

using Named = std::map<std::string, std::string>;  // options as written

Options options_of(const Named& named) { return Options(named.begin(), named.end()); }

ScoreKind kind_of(const std::string& name) {
  if (name == "raw") return ScoreKind::raw;
  if (name == "exact") return ScoreKind::exact;
  if (name == "amortised") return ScoreKind::amortised;
  throw Error("found the kind '" + name + "'; expected raw, exact or amortised");
}

template <class Model>
py::class_<Model> declared(py::module_& m, const char* name) {
  return py::class_<Model>(m, name)
      .def_static("load", [](const std::string& path) { return unlocked([&] { return Model::load(path); }); })
      .def("save", [](const Model& model, const std::string& path) {
        unlocked([&] {
          model.save(path);
          return 0;
        });
      });
}

Labels labels_of(const py::tuple& given) {
  const auto array = py::cast<Tight<uint32_t>>(given[1]);
  const auto index = span_of(array);
  return Labels(py::cast<std::vector<std::string>>(given[0]), {index.begin(), index.end()});
}

void declare_classifier(py::module_& m) {
  declared<Classifier>(m, "Classifier")
      .def_static("train",
                  [](const py::object& x, const py::tuple& labels, const Named& options, const py::tuple& run,
                     const std::optional<Tight<float>>& weights) {
                    const Data data(x);
                    const Labels y = labels_of(labels);
                    return watched(
                        run, weights ? span_of(*weights) : std::span<const float>(),
                        [&](const Run& r) { return Classifier::train(*data, y, options_of(options), r); });
                  })
      .def_static("train_part",
                  [](const Classifier* before, const py::object& x, const py::tuple& labels,
                     const Named& options, const std::optional<Tight<float>>& weights) {
                    const Data data(x);
                    const Labels y = labels_of(labels);
                    return unlocked([&] {
                      return Classifier::train_part(before, *data, y, options_of(options),
                                                    weights ? span_of(*weights) : std::span<const float>());
                    });
                  })
      .def_property_readonly("labels", &Classifier::labels)
      .def_property_readonly("columns", &Classifier::columns)
      .def_property_readonly("is_of_texts", &Classifier::is_of_texts)
      .def_property_readonly("has_amortised", &Classifier::has_amortised)
      .def_property_readonly("promise",
                             [](const Classifier& model) {
                               const LadderPromise p = model.promise();
                               return py::make_tuple(p.within, p.rho, p.confidence);
                             })
      .def("log_probabilities",
           [](const Classifier& model, const py::object& x, const std::string& kind) {
             const Data data(x);
             const ScoreKind what = kind_of(kind);
             return owned_rows(unlocked([&] { return model.log_probabilities(*data, what); }),
                               (*data).rows());
           })
      .def("probabilities",
           [](const Classifier& model, const py::object& x) {
             const Data data(x);
             return owned_rows(unlocked([&] { return model.probabilities(*data); }), (*data).rows());
           })
      .def("log_normalizers",
           [](const Classifier& model, const py::object& x) {
             const Data data(x);
             return owned(unlocked([&] { return model.log_normalizers(*data); }));
           })
      .def("predict",
           [](const Classifier& model, const py::object& x) {
             const Data data(x);
             return owned(unlocked([&] { return model.predict_index(*data); }));
           })
      .def("score",
           [](const Classifier& model, const py::object& x, const Tight<uint32_t>& labels, bool is_shared,
              const std::string& kind) {
             const Data data(x);
             const ScoreKind what = kind_of(kind);
             return owned_rows(unlocked([&] {
                                 return model.score(*data, {span_of(labels), is_shared}, what);
                               }),
                               (*data).rows());
           })
      .def("score_within",
           [](const Classifier& model, const py::object& x, const Tight<uint32_t>& labels, bool is_shared,
              std::optional<double> eps, std::optional<double> rho) {
             const Data data(x);
             ScoredWithin found = unlocked([&] {
               return model.score_within(*data, {span_of(labels), is_shared}, eps, rho);
             });
             return py::make_tuple(owned_rows(std::move(found.log_probability), (*data).rows()), found.rung,
                                   found.eps, found.rho, found.confidence);
           })
      .def("top",
           [](const Classifier& model, const py::object& x, uint32_t width, const std::string& kind) {
             const Data data(x);
             const ScoreKind what = kind_of(kind);
             Ranking found = unlocked([&] { return model.top(*data, width, what); });
             return py::make_tuple(owned_rows(std::move(found.label), (*data).rows()),
                                   owned_rows(std::move(found.log_probability), (*data).rows()));
           })
      .def("audit",
           [](const Classifier& model, const py::object& x, const std::optional<py::tuple>& labels,
              const Named& options, const std::string& kind) {
             const Data data(x);
             const std::optional<Labels> y = labels ? std::optional(labels_of(*labels)) : std::nullopt;
             const ScoreKind what = kind_of(kind);
             return audit_dict(
                 unlocked([&] { return model.audit(*data, y ? &*y : nullptr, options_of(options), what); }));
           })
      .def("normalized", [](const Classifier& model, const py::object& x) {
        const Data data(x);
        NormalizedClassifier found = unlocked([&] { return model.normalized(*data); });
        return py::make_tuple(found.model, audit_dict(found.before), audit_dict(found.after));
      });
}

void declare_density(py::module_& m) {
  declared<EnergyDensity>(m, "EnergyDensity")
      .def_static("train",
                  [](const py::array& x, const Named& options, const py::tuple& run) {
                    const Rows rows = rows_of(x);
                    return watched(run, {}, [&](const Run& r) {
                      return EnergyDensity::train(rows, options_of(options), r);
                    });
                  })
      .def_property_readonly("columns", &EnergyDensity::columns)
      .def_property_readonly("parameters", &EnergyDensity::parameters)
      .def("log_densities",
           [](const EnergyDensity& model, const py::array& x) {
             const Rows rows = rows_of(x);
             return owned(unlocked([&] { return model.log_densities(rows); }));
           })
      .def("normalizer",
           [](const EnergyDensity& model) {
             using namespace py::literals;
             const DensityNormalizer z = unlocked([&] { return model.normalizer(); });
             return py::dict("value"_a = z.log_z, "low"_a = z.low, "high"_a = z.high, "b"_a = z.b,
                             "method"_a = z.method, "distrust"_a = z.distrust);
           })
      .def("evaluate",
           [](const EnergyDensity& model, const py::array& x) {
             using namespace py::literals;
             const Rows rows = rows_of(x);
             const DensityQuality q = unlocked([&] { return model.evaluate(rows); });
             return py::dict("rows"_a = q.rows, "is_trusted"_a = q.is_trusted, "distrust"_a = q.distrust,
                             "nll"_a = q.nll, "nll_low"_a = q.nll_low, "nll_high"_a = q.nll_high,
                             "nll_error"_a = q.nll_error, "nll_b"_a = q.nll_b, "log_z"_a = q.log_z,
                             "b"_a = q.b, "method"_a = q.method);
           })
      .def("sample", [](const EnergyDensity& model, const Named& options) {
        std::string doubt;
        std::vector<float> rows = unlocked([&] { return model.sample(options_of(options), &doubt); });
        const uint64_t count = rows.size() / model.columns();
        return py::make_tuple(owned_rows(std::move(rows), count), doubt);
      });
}

void declare_regressor(py::module_& m) {
  const auto function = [](auto member) {
    return [member](const PredictiveRows& rows, const Tight<double>& values) {
      return owned_rows(unlocked([&] { return (rows.*member)(span_of(values)); }), rows.rows());
    };
  };
  py::class_<PredictiveRows>(m, "PredictiveRows")
      .def_property_readonly("rows", &PredictiveRows::rows)
      .def("mean", [](const PredictiveRows& rows) { return owned(rows.mean()); })
      .def("deviation", [](const PredictiveRows& rows) { return owned(rows.deviation()); })
      .def("modes", &PredictiveRows::modes)
      .def("quantile", function(&PredictiveRows::quantile))
      .def("cdf", function(&PredictiveRows::cdf))
      .def("log_density", function(&PredictiveRows::log_density))
      .def("crps", function(&PredictiveRows::crps))
      .def("highest_density",
           [](const PredictiveRows& rows, double level) {
             std::vector<std::vector<std::pair<double, double>>> out;
             for (const auto& parts : unlocked([&] { return rows.highest_density(level); })) {
               auto& list = out.emplace_back();
               for (const auto& part : parts) list.emplace_back(part.from, part.to);
             }
             return out;
           })
      .def("sample", [](const PredictiveRows& rows, uint64_t draws, uint64_t seed) {
        return owned_rows(unlocked([&] { return rows.sample(draws, seed); }), rows.rows());
      });
  declared<EnergyRegressor>(m, "EnergyRegressor")
      .def_static("train",
                  [](const py::array& x, const Tight<double>& y, const Named& options, const py::tuple& run,
                     const std::optional<Tight<float>>& weights) {
                    const Rows rows = rows_of(x);
                    return watched(run, weights ? span_of(*weights) : std::span<const float>(),
                                   [&](const Run& r) {
                                     return EnergyRegressor::train(rows, span_of(y), options_of(options), r);
                                   });
                  })
      .def_property_readonly("columns", &EnergyRegressor::columns)
      .def("distributions",
           [](const EnergyRegressor& model, const py::array& x) {
             const Rows rows = rows_of(x);
             return unlocked([&] { return model.distributions(rows); });
           })
      .def("log_densities",
           [](const EnergyRegressor& model, const py::array& x, const Tight<double>& y, bool is_exact) {
             const Rows rows = rows_of(x);
             return owned(unlocked([&] {
               return is_exact ? model.log_densities(rows, span_of(y))
                               : model.raw_log_densities(rows, span_of(y));
             }));
           })
      .def("evaluate", [](const EnergyRegressor& model, const py::array& x, const Tight<double>& y) {
        using namespace py::literals;
        const Rows rows = rows_of(x);
        const RegressorQuality q = unlocked([&] { return model.evaluate(rows, span_of(y)); });
        std::vector<std::pair<double, double>> coverage;
        for (const auto& c : q.coverage) coverage.emplace_back(c.level, c.held);
        return py::dict("rows"_a = q.rows, "nll"_a = q.nll, "nll_error"_a = q.nll_error, "nll_b"_a = q.nll_b,
                        "rmse"_a = q.rmse, "mae"_a = q.mae, "crps"_a = q.crps, "coverage"_a = coverage);
      });
}

// Sentences of lists of (name, value), and of lists of columns.
using AttributeLists = std::vector<std::vector<std::vector<std::pair<std::string, float>>>>;
using Sentences = std::variant<std::vector<AttributeSentence>, std::vector<TokenSentence>>;

Sentences sentences_of(const py::object& given, bool are_tokens) {
  if (are_tokens) return py::cast<std::vector<TokenSentence>>(given);
  std::vector<AttributeSentence> out;
  for (auto& sentence : py::cast<AttributeLists>(given)) {
    AttributeSentence& to = out.emplace_back();
    for (auto& position : sentence) {
      Attributes& attributes = to.emplace_back();
      for (auto& [name, value] : position) attributes.emplace_back(std::move(name), value);
    }
  }
  return out;
}

void declare_crf(py::module_& m) {
  using Marked = std::vector<LabelSequence>;
  declared<Crf>(m, "Crf")
      .def_static("train",
                  [](const py::object& x, bool are_tokens, const Marked& y, const Named& options,
                     const py::tuple& run) {
                    const Sentences sentences = sentences_of(x, are_tokens);
                    return watched(run, {}, [&](const Run& r) {
                      return std::visit(
                          [&](const auto& s) { return Crf::train(s, y, options_of(options), r); }, sentences);
                    });
                  })
      .def_property_readonly("labels", &Crf::labels)
      .def_property_readonly("has_templates", &Crf::has_templates)
      .def("tag",
           [](const Crf& model, const py::object& x, bool are_tokens, uint32_t best) {
             const Sentences sentences = sentences_of(x, are_tokens);
             const Crf::Tagged found = unlocked(
                 [&] { return std::visit([&](const auto& s) { return model.tag(s, best); }, sentences); });
             std::vector<std::vector<std::pair<LabelSequence, double>>> out;
             for (const auto& list : found) {
               auto& to = out.emplace_back();
               for (const TaggedSequence& tagged : list)
                 to.emplace_back(tagged.labels, tagged.log_probability);
             }
             return out;
           })
      .def("marginals",
           [](const Crf& model, const py::object& x, bool are_tokens) {
             const Sentences sentences = sentences_of(x, are_tokens);
             auto found = unlocked(
                 [&] { return std::visit([&](const auto& s) { return model.marginals(s); }, sentences); });
             std::vector<py::array> out;
             for (auto& one : found) {
               const uint64_t positions = one.size() / model.labels().size();
               out.push_back(owned_rows(std::move(one), positions));
             }
             return out;
           })
      .def("evaluate", [](const Crf& model, const py::object& x, bool are_tokens, const Marked& y) {
        using namespace py::literals;
        const Sentences sentences = sentences_of(x, are_tokens);
        const CrfQuality q = unlocked(
            [&] { return std::visit([&](const auto& s) { return model.evaluate(s, y); }, sentences); });
        return py::dict("sentences"_a = q.sentences, "tokens"_a = q.tokens, "accuracy"_a = q.accuracy,
                        "nll_exact"_a = q.nll_exact, "nll_raw"_a = q.nll_raw, "log_z_rms"_a = q.log_z_rms);
      });
}

void declare_language_model(py::module_& m) {
  using Words = std::vector<std::string>;
  py::class_<SentenceState>(m, "SentenceState")
      .def(py::init<>())
      .def("__eq__", [](const SentenceState& a, const SentenceState& b) { return a == b; })
      .def("__hash__", [](const SentenceState& a) { return py::hash(py::cast(a.words)); })
      .def("assign", [](SentenceState& to, const SentenceState& from) { to = from; })
      .def("copy", [](const SentenceState& state) { return state; });
  declared<LanguageModel>(m, "LanguageModel")
      .def_static("train",
                  [](const Words& sentences, const Named& options, const py::tuple& run) {
                    return watched(run, {}, [&](const Run& r) {
                      return LanguageModel::train(sentences, options_of(options), r);
                    });
                  })
      .def_property_readonly("order", &LanguageModel::order)
      .def_property_readonly("vocabulary", &LanguageModel::vocabulary)
      .def("has_word", &LanguageModel::has_word)
      .def("begin_sentence", &LanguageModel::begin_sentence)
      .def("no_context", &LanguageModel::no_context)
      .def("score", &LanguageModel::score)
      .def("log_probabilities",
           [](const LanguageModel& model, const std::string& sentence, bool is_exact) {
             return owned(unlocked([&] {
               return is_exact ? model.log_probabilities(sentence) : model.raw_log_probabilities(sentence);
             }));
           })
      .def("evaluate", [](const LanguageModel& model, const Words& sentences) {
        using namespace py::literals;
        const LanguageQuality q = unlocked([&] { return model.evaluate(sentences); });
        return py::dict("words"_a = q.words, "unknown"_a = q.unknown,
                        "perplexity_exact"_a = q.perplexity_exact, "perplexity_raw"_a = q.perplexity_raw,
                        "log_z_rms"_a = q.log_z_rms);
      });
}

// What a keyword was given, or an Error that says what it is to be.
template <class Number>
Number keyword(const py::dict& given, const char* name) {
  const py::handle value = given[name];
  try {
    return py::cast<Number>(value);
  } catch (const py::cast_error&) {
    const std::string expected =
        std::is_same_v<Number, bool> ? "True or False"
        : std::is_integral_v<Number>
            ? "a whole number from 0 to " + std::to_string(std::numeric_limits<Number>::max())
            : "a number";
    throw Error(std::string(name) + ": found " + std::string(py::repr(value)) + "; expected " + expected);
  }
}

HeadType head_type(const py::handle& name) {
  const auto text = py::cast<std::string>(name);
  return text == "bfloat16" ? HeadType::bfloat16 : text == "float16" ? HeadType::float16 : HeadType::float32;
}

py::dict dict_of(HeadNormalizer&& n) {
  using namespace py::literals;
  const uint64_t hidden = n.output.size();
  return py::dict("intercept"_a = n.intercept, "slope"_a = owned(std::move(n.slope)),
                  "hidden_weight"_a = owned_rows(std::move(n.hidden_weight), hidden),
                  "hidden_bias"_a = owned(std::move(n.hidden_bias)), "output"_a = owned(std::move(n.output)));
}

void declare_head(py::module_& m) {
  m.def("fit_normalizer", [](const py::array& states, const Tight<double>& log_z, const py::dict& given) {
    using namespace py::literals;
    NormalizerFitOptions options;
    options.hidden = keyword<uint32_t>(given, "hidden");
    options.hold_out = keyword<double>(given, "hold_out");
    options.rho = keyword<double>(given, "rho");
    options.confidence = keyword<double>(given, "confidence");
    options.seed = keyword<uint64_t>(given, "seed");
    const Rows h = rows_of(states);
    FittedNormalizer found = unlocked([&] { return fit_normalizer(h, span_of(log_z), options); });
    return py::dict("normalizer"_a = dict_of(std::move(found.b)), "fitted"_a = found.fitted,
                    "certified"_a = found.certified, "mean"_a = found.mean, "rms"_a = found.rms,
                    "eps"_a = found.eps);
  });
  m.def("normalize_head", [](const py::array& weight, const std::optional<Tight<float>>& bias,
                             const py::array& states, const py::dict& given) {
    using namespace py::literals;
    HeadOptions options;
    options.within = keyword<double>(given, "within");
    options.rho = keyword<double>(given, "rho");
    options.confidence = keyword<double>(given, "confidence");
    options.hold_out = keyword<double>(given, "hold_out");
    options.max_cost = keyword<double>(given, "max_cost");
    options.keep_all = keyword<bool>(given, "keep_all");
    options.clusters = keyword<uint32_t>(given, "clusters");
    options.seed = keyword<uint64_t>(given, "seed");
    options.weight_type = head_type(given["weight_type"]);
    options.bias_type = head_type(given["bias_type"]);
    const Rows w = rows_of(weight), h = rows_of(states);
    const std::span<const float> b = bias ? span_of(*bias) : std::span<const float>();
    NormalizedHead found = unlocked([&] { return normalize_head(w, b, h, options); });
    HeadNormalizer& n = found.normalizer;
    py::list rungs;
    for (const HeadRung& r : found.rungs)
      rungs.append(py::dict("name"_a = r.name, "kind"_a = r.kind, "cost"_a = r.cost, "rms"_a = r.rms,
                            "q99"_a = r.q99, "eps"_a = r.eps, "nanoseconds"_a = r.nanoseconds));
    py::dict out("weight"_a = owned_rows(std::move(found.weight), w.rows()),
                 "bias"_a = owned(std::move(found.bias)), "slope"_a = owned(std::move(found.slope)),
                 "intercept"_a = found.intercept, "before"_a = audit_dict(found.before),
                 "after"_a = audit_dict(found.after), "probability_difference"_a = found.probability,
                 "rungs"_a = rungs, "rung"_a = found.rung().name, "kind"_a = found.rung().kind,
                 "eps"_a = found.rung().eps, "reason"_a = found.reason, "fitted"_a = found.fitted,
                 "certified"_a = found.certified, "ladder"_a = py::bytes(found.ladder),
                 "normalizer"_a = py::none());
    if (!n.slope.empty()) out["normalizer"] = dict_of(std::move(n));
    return out;
  });
  m.def("normalize_checkpoint", [](const std::string& directory, const std::string& states,
                                   const py::dict& given) {
    using namespace py::literals;
    CheckpointHeadOptions options;
    options.out = py::cast<std::string>(given["out"]);
    options.states_name = py::cast<std::string>(given["states_name"]);
    options.weight_name = py::cast<std::string>(given["weight_name"]);
    options.bias_name = py::cast<std::string>(given["bias_name"]);
    options.vocabulary = keyword<uint32_t>(given, "vocabulary");
    options.links = keyword<bool>(given, "link");
    options.hold_out = keyword<double>(given, "hold_out");
    options.eps = keyword<double>(given, "within");
    options.rho = keyword<double>(given, "rho");
    options.confidence = keyword<double>(given, "confidence");
    options.seed = keyword<uint64_t>(given, "seed");
    const NormalizedCheckpoint c = unlocked([&] { return normalize_checkpoint(directory, states, options); });
    return py::dict("out"_a = c.out, "shard"_a = c.shard, "weight"_a = c.weight, "was_tied"_a = c.was_tied,
                    "classes"_a = c.classes, "features"_a = c.features, "states"_a = c.states,
                    "held_out"_a = c.held_out, "log_normalizer"_a = c.log_normalizer,
                    "logit_scale"_a = c.scale, "probability_difference"_a = c.probability,
                    "before"_a = audit_dict(c.before), "after"_a = audit_dict(c.after), "notes"_a = c.notes);
  });
  py::class_<HeadLadder>(m, "HeadLadder")
      .def(py::init([](const py::bytes& bytes, uint32_t classes, uint32_t features) {
        return HeadLadder(std::string_view(bytes), classes, features);
      }))
      .def_property_readonly("rungs", &HeadLadder::rungs)
      .def("log_normalizers",
           [](const HeadLadder& ladder, const py::array& weight, const std::optional<Tight<float>>& bias,
              const py::array& states, const std::string& rung) {
             const Rows w = rows_of(weight), h = rows_of(states);
             const std::span<const float> b = bias ? span_of(*bias) : std::span<const float>();
             return owned(unlocked([&] { return ladder.log_normalizers(w, b, h, rung); }));
           })
      .def("estimates", [](const HeadLadder& ladder, const py::array& states, const std::string& rung) {
        const Rows h = rows_of(states);
        return owned(unlocked([&] { return ladder.estimates(h, rung); }));
      });
  m.def("head_log_normalizers",
        [](const py::array& weight, const std::optional<Tight<float>>& bias, const py::array& states) {
          const Rows w = rows_of(weight), h = rows_of(states);
          const std::span<const float> b = bias ? span_of(*bias) : std::span<const float>();
          return owned(unlocked([&] { return head_log_normalizers(w, b, h); }));
        });
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  static auto* error = new py::exception<Error>(m, "Error", PyExc_ValueError);  // as long as the process
  py::register_exception_translator([](std::exception_ptr thrown) {  // NOLINT(*-unnecessary-value-param)
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& e) {
      PyErr_SetString(error->ptr(), e.what());
    }
  });
  name_options_as_keywords();
  m.def("option_list", [](const std::string& table) {
    py::list out;
    for (const OptionDescription& o : option_list(table))
      out.append(py::make_tuple(o.name, o.initial, o.type, o.help, o.choices, o.chooses));
    return out;
  });
  declare_classifier(m);
  declare_density(m);
  declare_regressor(m);
  declare_crf(m);
  declare_language_model(m);
  declare_head(m);
  struct Together {  // from `with` to its end
    int64_t communicator;
    std::optional<Processes> processes;
  };
  py::class_<Together>(m, "Processes")
      .def(py::init([](int64_t communicator) { return std::make_unique<Together>(communicator); }))
      .def("__enter__", [](Together& t) { t.processes.emplace(t.communicator); })
      .def("__exit__", [](Together& t, const py::args&) { t.processes.reset(); });
  m.def("load", [](const std::string& path) { return unlocked([&] { return load(path); }); });
}

}  // namespace selfnorm::python
