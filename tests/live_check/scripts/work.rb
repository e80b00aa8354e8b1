# SPDX-License-Identifier: Apache-2.0
# Work for a Ruby interpreter: methods, blocks called from C, regular expressions, garbage
# collection.
require "json"

def fibonacci(n)
  n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)
end

loop do
  fibonacci(20)
  numbers = (1..3000).map { |i| (i * 7919) % 10_007 }
  numbers.sort_by { |n| -n }.each_slice(7).map(&:sum)
  numbers.sort { |a, b| a <=> b }
  text = JSON.generate(numbers.map { |n| { "n" => n, "s" => n.to_s * 3 } })
  JSON.parse(text)
  text.gsub(/\d{3,}/) { |m| m.reverse }
  (2..300).select { |n| (2...n).none? { |d| (n % d).zero? } }
end
