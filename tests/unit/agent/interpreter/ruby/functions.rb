# SPDX-License-Identifier: Apache-2.0
#
# Methods and blocks for test_ruby_code.c. Prints for each of them the address of its body, and what
# Ruby says about its names and lines, and waits.
require 'fiddle'

def plain(price)
  tax = price * 2

  tax + 1
end

def with_block(list)
  list.map do |item|
    item + 1
  end
end

# A name that does not fit into the object of its String, and has two bytes for some characters.
def a_method_with_a_name_that_is_far_too_long_for_the_object_ünïcödé
  1
end

class Shop
  def self.price = 3

  define_method(:discount) { |price| price }
end

# More words than the first part of the list of positions has, and than one block of it.
eval("def long(x)\n#{"  x += 1\n" * 40}end", binding, __FILE__, 1001)
eval("def longer(x)\n#{"  x += 1\n\n" * 400}  x.foo(\n1,\n2)\nend", binding, __FILE__, 2001)
eval("def without_a_file\n  1\nend", binding, '(eval)', 7)

# The wrapper of an iseq points to it, and that to its body.
def body_of(iseq)
  wrapper = Fiddle.dlwrap(iseq)
  Fiddle::Pointer.new(Fiddle::Pointer.new(wrapper)[32, 8].unpack1('Q') + 16)[0, 8].unpack1('Q')
end

def show(iseq)
  puts "FUNCTION #{body_of(iseq)} #{iseq.first_lineno} #{iseq.absolute_path ? 1 : 0} #{iseq.base_label}"
  puts iseq.label
  # Each instruction, up to the code of blocks in it, which follows.
  iseq.disasm.lines.drop(1).take_while { |line| !line.start_with?('== disasm') }.each do |line|
    puts "LINE #{$1.to_i} #{$2}" if line =~ /^(\d{4}) .*\(\s*(\d+)\)/
  end
  puts 'END'
end

methods = [:plain, :with_block, :a_method_with_a_name_that_is_far_too_long_for_the_object_ünïcödé, :long, :longer,
           :without_a_file, :body_of, :show].map { |name| method(name) }
methods += [Shop.method(:price), Shop.instance_method(:discount)]
iseqs = methods.map { |method| RubyVM::InstructionSequence.of(method) }
iseqs << RubyVM::InstructionSequence.of(proc { |x|
  x
})
iseqs.each { |iseq| show(iseq) }
puts 'READY'
$stdout.flush
sleep
