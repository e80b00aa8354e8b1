# SPDX-License-Identifier: Apache-2.0
#
# Ruby with known stacks. Arguments: what runs, and a file; the program ends when the file exists.
#
#   shares    sixty, thirty and ten use these shares of the time
#   calls     50 levels of recursion, and blocks and methods that functions in C call
#   threads   two threads, and one that sleeps
#
# At its end, a program writes to FILE.times what it has measured: milliseconds of CPU time of each part.

$program, $end_file = ARGV
$times = Hash.new(0.0)

# All time is used here.
def spin(rounds)
  x = rounds
  i = 0
  while i < rounds * 100
    x = (x * 31 + i) & 0xffff
    i += 1
  end
  x
end

def ended?
  File.exist?($end_file)
end

def measured(name)
  start = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  result = yield
  $times[name] += Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - start
  result
end

def sixty
  spin(600)
end

def thirty
  spin(300)
end

def ten
  spin(100)
end

def shares
  until ended?
    measured(:sixty) { sixty }
    measured(:thirty) { thirty }
    measured(:ten) { ten }
  end
end

def descend(levels)
  return spin(400) if levels <= 1

  descend(levels - 1) + 1
end

def descend_in_blocks(levels)
  return spin(400) if levels <= 1

  [1].each { descend_in_blocks(levels - 1) }
end

class Shop
  def self.tax(price)
    spin(100) + price
  end

  define_method(:discount) do |price|
    spin(400) + price
  end

  # Two numbers are compared once.
  def cheapest
    [2, 1].sort { |a, b| spin(400).zero? ? 0 : a <=> b }
  end

  def by_price
    [3, 1, 2, 4].sort_by { |price| Shop.tax(price) }
  end

  def method_missing(name, *arguments)
    spin(400)
  end

  def respond_to_missing?(*)
    true
  end
end

def numbers
  Enumerator.new do |yielder|
    4.times { yielder << spin(100) }
  end
end

# The block of the enumerator runs in a fiber.
def consume
  enumerator = numbers
  sum = 0
  4.times { sum += enumerator.next }
  sum
end

def resume
  fiber = Fiber.new { in_fiber }
  fiber.resume
end

def in_fiber
  spin(400)
end

def throws
  spin(200)
  raise ArgumentError, 'expected'
end

def catches
  throws
rescue ArgumentError
  spin(200)
ensure
  spin(1)
end

# A function in C that takes long.
LETTERS = Array.new(3000) { |i| ((i * 7919) % 3001).to_s }

def native
  8.times { LETTERS.sort.size }
end

# A short block is called so often that many samples are between the function in C and the block.
def short_blocks
  sum = 0
  20_000.times { |i| sum += i }
  sum
end

def calls
  shop = Shop.new
  until ended?
    measured(:descend) { descend(50) }
    measured(:descend_in_blocks) { descend_in_blocks(20) }
    measured(:cheapest) { shop.cheapest }
    measured(:by_price) { shop.by_price }
    measured(:discount) { shop.discount(1) }
    measured(:method_missing) { shop.anything }
    measured(:consume) { consume }
    measured(:resume) { resume }
    measured(:catches) { catches }
    measured(:eval) { eval('spin(400)') }
    measured(:native) { native }
    measured(:short_blocks) { short_blocks }
  end
end

def first_thread
  spin(100)
end

def second_thread
  spin(100)
end

def sleeps
  sleep 0.05
end

def threads
  workers = [
    Thread.new { measured(:first_thread) { first_thread } until ended? },
    Thread.new { measured(:second_thread) { second_thread } until ended? },
    Thread.new { sleeps until ended? },
  ]
  workers.each(&:join)
end

send($program)
File.write("#{$end_file}.times", $times.map { |name, seconds| "#{name} #{(seconds * 1000).round}\n" }.join)
