// Tables of several kinds of columns: the features against their definition, and what a schema does with new
// rows.
#include "data/table/table_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/table/json_lines.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Dense copies of rows.
std::vector<std::vector<float>> rows_of(const Dataset& data) {
  std::vector<std::vector<float>> out(data.examples(), std::vector<float>(data.features.columns()));
  for (uint64_t r = 0; r < out.size(); ++r)
    for_each_entry(data.features, r, [&](uint32_t c, float value) { out[r][c] = value; });
  return out;
}

Schema schema_of(const ReadResult& read) {
  return {.labels = read.data.labels,
          .feature_count = read.data.features.columns(),
          .feature_names = read.data.feature_names,
          .text = read.text,
          .target = read.report.target,
          .is_joint = false,
          .table = read.table};
}

const char* const kTable = "age,city,label\n1,Rome,a\n3,Oslo,b\nNA,Rome,a\n5,Oslo,b\n";

TEST(TableRows, NumbersCategoriesAndMissingValues) {
  const ReadResult read = read_dataset_from_memory("t.csv", kTable, {});
  ASSERT_TRUE(read.table.has_value());
  EXPECT_EQ(read.data.feature_names,
            (std::vector<std::string>{"age", "age missing", "city=Oslo", "city=Rome"}));
  EXPECT_EQ(read.data.labels, (std::vector<std::string>{"a", "b"}));
  const auto x = rows_of(read.data);
  const float step = static_cast<float>(2 / std::sqrt(8.0 / 3));  // mean 3, variance 8/3
  EXPECT_FLOAT_EQ(x[0][0], -step);
  EXPECT_FLOAT_EQ(x[3][0], step);
  EXPECT_EQ(x[1], (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(x[2], (std::vector<float>{0, 1, 0, 1}));
  // New rows by the schema, in another order, with another column and an unknown city; without a label.
  const Schema schema = schema_of(read);
  ReadOptions options;
  options.schema = &schema;
  options.require_labels = false;
  const auto y =
      rows_of(read_dataset_from_memory("new.csv", "id,city,age\n7,Lima,5\n8,Oslo,\n", options).data);
  EXPECT_EQ(y[0], (std::vector<float>{x[3][0], 0, 0, 0}));
  EXPECT_EQ(y[1], (std::vector<float>{0, 1, 1, 0}));
  EXPECT_THROW(read_dataset_from_memory("new.csv", "city\nOslo\n", options), DataError);
}

TEST(TableRows, TextBesideOthersIsReadAsLinesOfTextAre) {
  ReadOptions options;
  options.text_columns = {"title", "body"};
  const std::string table = "n,title,body,label\n1,red card,lost,a\n2,blue,\"card, lost\",b\n";
  const ReadResult read = read_dataset_from_memory("t.csv", table, options);
  const ReadResult lines = read_dataset_from_memory("t.txt", "a\tred card lost\nb\tblue card, lost\n", {});
  ASSERT_TRUE(read.table->text.has_value());
  EXPECT_EQ(read.table->text->vocabulary(), lines.text->vocabulary());
  const auto x = rows_of(read.data), words = rows_of(lines.data);
  for (size_t r = 0; r < 2; ++r)
    EXPECT_EQ(std::vector<float>(x[r].begin() + 1, x[r].end()), words[r]);  // after the number
  // The encoder survives being stored, and gives new rows the same features.
  Schema schema = schema_of(read);
  schema.table = TableEncoder::from_json(read.table->json());
  ReadOptions again;
  again.schema = &schema;
  EXPECT_EQ(rows_of(read_dataset_from_memory("t.csv", table, again).data), x);
}

TEST(TableRows, JsonLinesAreTables) {
  const std::string json =
      "{\"age\": 1, \"city\": \"Rome\", \"label\": \"a\"}\n{\"city\": \"Oslo\", \"age\": 3, "
      "\"label\": \"b\"}\n{\"city\": \"Rome\", \"label\": \"a\"}\n{\"age\": 5, \"city\": \"Oslo\", "
      "\"label\": \"b\"}\n";
  const auto x = rows_of(read_dataset_from_memory("t.jsonl", json, {}).data);
  EXPECT_EQ(x, rows_of(read_dataset_from_memory("t.csv", kTable, {}).data));
  EXPECT_THROW(read_dataset_from_memory("t.jsonl", "{\"a\": {}}\n", {}), DataError);
  EXPECT_THROW(read_dataset_from_memory("t.jsonl", "{\"a\": 1}\nx\n", {}), DataError);
}

}  // namespace
}  // namespace selfnorm
