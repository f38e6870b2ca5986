#include "model/stored_record.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm::test {
namespace {

TEST(StoredRecord, TwoOfThemInOneFileComeBackWithTheirModules) {
  const std::string path = testing::TempDir() + "stored_record.safetensors";
  const EnergyRecord first{
      "torchscript", R"({"inputs":2})", {{"w", {1, 2}, {1.5f, -2}}}, std::string("P\0K", 3)};
  const EnergyRecord second{"dense", "{}", {{"a", {1}, {3}}, {"b.c", {2}, {4, 5}}}, ""};
  Metadata metadata = {{"format", "selfnorm"}, {"format_version", "1"}, {"family", "some"}};
  std::vector<runtime::Tensor> tensors;
  add_record(first, "net", "net.module", metadata, tensors);
  add_record(second, "net_2", "net_2.module", metadata, tensors);
  write_safetensors(path, std::move(tensors), metadata);
  EXPECT_EQ(identity_of(path).family, "some");
  EXPECT_EQ(identity_of(path + ".absent").family, "");
  {
    const runtime::MappedFile file(path);
    const runtime::Safetensors content = runtime::parse_safetensors(file.bytes(), path);
    const runtime::LayoutReader reader{content, path};
    check_family(reader, "some", "some model");
    EXPECT_THROW(check_family(reader, "other", "another"), runtime::FormatError);
    EXPECT_THROW(stored_record(reader, "net_3", "net_3.module"), runtime::FormatError);
    for (const auto& [name, expected] : {std::pair{"net", &first}, std::pair{"net_2", &second}}) {
      const EnergyRecord found = stored_record(reader, name, std::string(name) + ".module");
      EXPECT_EQ(found.kind, expected->kind);
      EXPECT_EQ(found.settings, expected->settings);
      EXPECT_EQ(found.module, expected->module);
      ASSERT_EQ(found.tensors.size(), expected->tensors.size());
      for (size_t i = 0; i < found.tensors.size(); ++i) {
        EXPECT_EQ(found.tensors[i].name, expected->tensors[i].name);
        EXPECT_EQ(found.tensors[i].shape, expected->tensors[i].shape);
        EXPECT_EQ(found.tensors[i].values, expected->tensors[i].values);
      }
    }
  }
  std::filesystem::remove(path);
}

TEST(StoredRecord, ErrorsNameTheFile) {
  const auto message_of = [](const auto& action) -> std::string {
    try {
      with_errors_of("a/b", action);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message_of([] { throw Error("bad"); }), "a/b: bad");
  EXPECT_EQ(message_of([] { throw Error("a/b: bad"); }), "a/b: bad");
  EXPECT_EQ(message_of([] { throw runtime::FormatError("a/b: worse"); }), "a/b: worse");
  EXPECT_EQ(with_errors_of("a/b", [] { return 3; }), 3);
}

}  // namespace
}  // namespace selfnorm::test
