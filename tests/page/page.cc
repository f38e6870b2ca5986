#include "page/page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "scratch.h"

namespace selfnorm {
namespace {

const std::string kStart = R"(<script type="application/json" id="data">)", kEnd = "</script>";

// What a browser takes for the data: from the element's start to the first end of a script.
std::string data_of(const std::string& html) {
  const size_t start = html.find(kStart) + kStart.size();
  return html.substr(start, html.find(kEnd, start) - start);
}

std::string template_around(const std::string& html) {
  const std::string data = data_of(html);
  return html.substr(0, html.find(kStart) + kStart.size()) +
         html.substr(html.find(kStart) + kStart.size() + data.size());
}

ReportDocument document_with(const std::string& label) {
  ReportDocument document{.name = label, .command = "audit", .title = label, .notes = {label}};
  document.cards = {{.id = "model", .label = label, .value = label, .number = 0.25, .source = label}};
  const Series series{.name = label, .x = {1, 2}, .y = {3, 5e-300}, .labels = {label, label}};
  const Panel panel{.title = label, .x = {.label = label}, .y = {.label = label}, .series = {series}};
  document.section(label).figures = {
      {.id = "loss", .look = label, .figure = {.title = label, .panels = {panel}}}};
  document.section(label).tables = {
      {.id = "worst", .look = label, .table = {.caption = label, .columns = {label}, .rows = {{label}}}}};
  return document;
}

TEST(Page, HoldsTheDocumentAndTheVersion) {
  const ReportDocument document = document_with("Zürich & 東京 \\ \" \n\t{{DATA}} {{SCRIPT}}");
  nlohmann::json data = nlohmann::json::parse(data_of(page_html(document, "1.2.3")));
  EXPECT_EQ(data["version"], "1.2.3");
  data.erase("version");
  EXPECT_EQ(data, nlohmann::json::parse(document_text(document)));
  EXPECT_EQ(document_text(parse_document(data.dump(), "the page")), document_text(document));
}

TEST(Page, NothingInALabelIsMarkup) {
  const std::string nothing = template_around(page_html(document_with("a"), "1"));
  for (const std::string label :
       {"</script><script>window.hacked = 1</script>", "</SCRIPT >", "<!-- <script>", "]]>", "-->",
        "<img src=x onerror=alert(1)>", "&lt;/script&gt;", "\u2028alert(1)\u2029",
        "'\"><svg onload=alert(1)>", "{{DATA}}"}) {
    const std::string html = page_html(document_with(label), label);
    const std::string data = data_of(html);
    for (const std::string harmful : {"<", ">", "&", "\u2028", "\u2029"})
      EXPECT_EQ(data.find(harmful), data.npos) << label;
    EXPECT_EQ(template_around(html), nothing) << label;
    EXPECT_EQ(nlohmann::json::parse(data)["title"], label);
    EXPECT_EQ(nlohmann::json::parse(data)["version"], label);
  }
}

TEST(Page, BytesThatAreNotUtf8AreReplaced) {
  const std::string html = page_html(document_with("caf\xe9 \xff\xfe"), "\xe2\x80");
  const nlohmann::json data = nlohmann::json::parse(data_of(html));
  EXPECT_EQ(data["title"], "caf\ufffd \ufffd\ufffd");
  EXPECT_EQ(data["version"], "\ufffd");
}

TEST(Page, LoadsNothing) {
  const std::string html = template_around(page_html(document_with("a"), "1"));
  for (const std::string load :
       {R"((src|href|action|data)\s*=\s*["']?\s*(https?:)?//)", R"(url\(\s*["']?\s*(https?:)?//)",
        R"(@import|\bimport\s*\(|\bfetch\s*\(|XMLHttpRequest|sendBeacon|WebSocket|EventSource)",
        R"(<(script|link|iframe|img|object|embed)[^>]*\s(src|href|data)\s*=)"}) {
    std::smatch found;
    EXPECT_FALSE(std::regex_search(html, found, std::regex(load, std::regex::icase))) << found.str();
  }
  EXPECT_NE(html.find("default-src 'none'"), html.npos);
}

TEST(Page, IsKnownByItsGenerator) {
  const Scratch folder;
  EXPECT_TRUE(is_page_or_absent(folder / "none.html"));
  std::ofstream(folder / "page.html") << page_html(document_with("a"), "1");
  EXPECT_TRUE(is_page_or_absent(folder / "page.html"));
  std::ofstream(folder / "thesis.html") << "<!doctype html><title>years of work</title>";
  EXPECT_FALSE(is_page_or_absent(folder / "thesis.html"));
  std::ofstream(folder / "empty.html");
  EXPECT_FALSE(is_page_or_absent(folder / "empty.html"));
  std::ofstream(folder / "late.html") << std::string(2000, ' ') << page_html(document_with("a"), "1");
  EXPECT_FALSE(is_page_or_absent(folder / "late.html"));
  std::filesystem::create_directory(folder / "folder");
  EXPECT_FALSE(is_page_or_absent(folder / "folder"));
  std::filesystem::create_symlink("nowhere", folder / "link.html");
  EXPECT_FALSE(is_page_or_absent(folder / "link.html"));
}

}  // namespace
}  // namespace selfnorm
