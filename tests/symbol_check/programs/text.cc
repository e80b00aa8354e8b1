/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Code with many templates and deep inlining, for tests/symbol_check: a parser, formatting, regular
 * expressions. It is never run. Functions local to a unit (in anonymous namespaces, local classes,
 * lambdas) test names without a linkage name.
 */

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <variant>
#include <vector>

#define FMT_HEADER_ONLY
#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

double solve(std::vector<double> values);

namespace text
{
namespace
{

struct counter {
	std::map<std::string, size_t> words;

	counter() = default;
	counter(const counter &) = default;
	virtual ~counter() = default;
	virtual void take(const std::string &word) { words[word] += word.size(); }
};

struct strict_counter final : virtual counter {
	void take(const std::string &word) override
	{
		if (!word.empty() && word.front() != '#')
			counter::take(word);
	}
};

inline std::string normal(std::string word)
{
	std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
	return word;
}

} // namespace

std::string summary(const std::string &document)
{
	static const std::regex word("([a-z]+)(-[0-9]{1,3})?");
	strict_counter counts;
	auto parsed = nlohmann::json::parse(document);

	for (auto &[key, value] : parsed.items()) {
		std::smatch match;
		auto dumped = value.dump(1);

		while (std::regex_search(dumped, match, word)) {
			counts.take(normal(match.str(1)));
			dumped = match.suffix();
		}
		counts.take(key);
	}
	struct by_count {
		bool operator()(const std::pair<std::string, size_t> &a, const std::pair<std::string, size_t> &b) const
		{
			return a.second > b.second;
		}
	};
	std::vector<std::pair<std::string, size_t>> rows(counts.words.begin(), counts.words.end());
	std::sort(rows.begin(), rows.end(), by_count());
	return fmt::format("{} {:%H:%M}", rows, std::chrono::seconds(rows.size()));
}

} // namespace text

int main(int argc, char **argv)
{
	std::vector<double> sizes;
	std::variant<std::string, int> last;

	try {
		for (int i = 1; i < argc; i++) {
			auto text = text::summary(argv[i]);
			sizes.push_back(static_cast<double>(text.size()));
			last = text;
		}
	} catch (const nlohmann::json::exception &e) {
		last = e.id;
	}
	fmt::print("{} {}\n", std::visit([](const auto &x) { return fmt::format("{}", x); }, last), solve(sizes));
	return 0;
}
