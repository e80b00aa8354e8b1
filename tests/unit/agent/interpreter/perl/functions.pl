# Subs whose code test_perl_code.c reads. Prints "NAME ADDRESS" for each of them.
use strict;
use warnings;
use feature 'lexical_subs';
no warnings 'experimental::lexical_subs';

sub top {
	return 1;
}

package Shop::Cart {
	sub price { return 7 }
}

sub make_closure {
	my ($value) = @_;
	return sub { return $value };
}

my sub lexical { return 2 }

my $anonymous = sub { return 3 };
my $evaluated = eval "package Other; sub { return 4 }" or die $@;
my $closure = make_closure(1);
my $file = '/srv/shop/cart.pl';

# line 300 "renamed.pl"
sub renamed { return 5 }

$| = 1;
printf "%s %d\n", @$_ for ['top', \&top], ['price', \&Shop::Cart::price], ['lexical', \&lexical], ['anonymous', $anonymous],
	['evaluated', $evaluated], ['closure', $closure], ['renamed', \&renamed], ['native', \&utf8::encode], ['hash', \%main::],
	['file', unpack 'J', pack 'p', $file];
sleep 60;
